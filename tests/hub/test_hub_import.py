"""Importing over real HTTP: formats, layouts, columns, limits, and failures a person can act on."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hub_kit import ROWS, publication, texts
from local_hub import File, LocalHub

from whileai_core.errors import InputError, NotFound, PlatformError, Refused, Unavailable
from whileai_core.hub.client import Hub
from whileai_core.hub.importing import Imported, Wanted, import_rows
from whileai_core.hub.publish import publish

REPO = "acme/talks"
CHAT = [
    {"messages": [{"role": "user", "content": f"Ask {n}"}, {"role": "assistant", "content": "A"}]}
    for n in range(5)
]


def jsonl(rows: list[Any]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def parquet(rows: list[Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), out, **options)
    return out.getvalue()


def take(hub: Hub, **wanted: Any) -> tuple[list[Any], Imported]:
    lines: list[bytes] = []
    result = import_rows(hub, Wanted(**({"repo": REPO} | wanted)), lines.append)
    return [json.loads(line) for line in lines], result


def prompts(hub: Hub, **wanted: Any) -> list[str]:
    return [row["prompt"] for row in take(hub, **wanted)[0]]


ASKS = [f"Ask {n}" for n in range(5)]


def test_what_was_published_comes_back_to_the_letter(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), "kim/orders", private=False)
    publish(hub, publication("ds_h", "holdout", ROWS[:1]), "kim/orders", private=False)
    lines: list[bytes] = []
    import_rows(hub, Wanted("kim/orders"), lines.append)
    assert [line.decode() for line in lines] == [f"{text}\n" for text in texts(ROWS)]
    rows, result = take(hub, repo="kim/orders", split="holdout")
    assert json.dumps(rows) == json.dumps(ROWS[:1])
    assert result.revision == server.dataset("kim/orders").head.id
    first = server.dataset("kim/orders").tags["zp-ds_1"]
    with pytest.raises(InputError, match="no split 'holdout'; it has train"):
        take(hub, repo="kim/orders", split="holdout", revision="zp-ds_1")
    assert take(hub, repo="kim/orders", revision="zp-ds_1")[1].revision == first


def arrow(rows: list[Any]) -> bytes:
    out = io.BytesIO()
    table = pa.Table.from_pylist(rows)
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def csv_of(rows: list[Any]) -> bytes:
    lines = ["messages,reward"]
    for row in rows:
        cell = json.dumps(row["messages"]).replace('"', '""')
        lines.append(f'"{cell}",1')
    return "\n".join(lines).encode()


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("train.jsonl", jsonl(CHAT)),
        ("train.jsonl.gz", gzip.compress(jsonl(CHAT))),
        ("train.json", json.dumps(CHAT).encode()),
        ("data/train-00000-of-00001.parquet", parquet(CHAT)),
        ("train.arrow", arrow(CHAT)),
        ("train.csv", csv_of(CHAT)),
        ("train.csv.gz", gzip.compress(csv_of(CHAT))),
        ("anything.ndjson", jsonl(CHAT)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_format_is_read(server: LocalHub, hub: Hub, path: str, data: bytes) -> None:
    server.put(REPO, {path: data, "README.md": b"# Talks\n", ".gitattributes": b""})
    assert prompts(hub) == ASKS


def test_columns_go_through_the_dialects(server: LocalHub, hub: Hub) -> None:
    rows = [
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}]},
        {"instruction": "Add", "input": "1 2", "output": "3"},
        {"prompt": "p", "steps": [{"tool": "t", "arguments": {"a": 1}}], "final_text": "f"},
    ]
    server.put(REPO, {"a.jsonl": jsonl(rows)})
    (share, instruction, own), _ = take(hub)
    assert (share["prompt"], share["final_text"]) == ("Hi", "Yo")
    assert instruction["final_text"] == "3"
    assert own == rows[2]


def test_json_columns_are_read_as_json(server: LocalHub, hub: Hub) -> None:
    kinds = pa.list_(pa.json_())
    messages = [[json.dumps(message) for message in row["messages"]] for row in CHAT]
    plain = pa.array(messages, pa.list_(pa.string()))
    items = pa.ExtensionArray.from_storage(pa.json_(), plain.values)
    table = pa.table({"messages": pa.ListArray.from_arrays(plain.offsets, items, kinds)})
    out = io.BytesIO()
    pq.write_table(table, out)
    server.put(REPO, {"data/train-00000-of-00001.parquet": out.getvalue()})
    assert prompts(hub) == ASKS


def test_the_readme_says_which_files_are_which(server: LocalHub, hub: Hub) -> None:
    readme = b"""---
configs:
- config_name: en
  data_files:
  - split: train
    path: [english/a*.jsonl, "english/more/**"]
  - split: test
    path: english/test.jsonl
- config_name: de
  data_dir: german
- config_name: one
  data_files: "english/test.jsonl"
---
"""
    files = {
        "README.md": readme,
        "english/a1.jsonl": jsonl(CHAT[:1]),
        "english/a2.jsonl": jsonl(CHAT[1:2]),
        "english/more/deep/x.jsonl": jsonl(CHAT[2:3]),
        "english/test.jsonl": jsonl(CHAT[3:4]),
        "german/train.jsonl": jsonl(CHAT[4:]),
    }
    server.put(REPO, files)
    assert prompts(hub, config="en") == ASKS[:3]
    assert prompts(hub, config="en", split="test") == ASKS[3:4]
    assert prompts(hub, config="de") == ASKS[4:]
    assert prompts(hub, config="one") == ASKS[3:4]
    for wanted, said in (
        ({}, "several configurations, name one: en, de, one"),
        ({"config": "fr"}, "no configuration 'fr'; it has en, de, one"),
        ({"config": "en", "split": "dev"}, "no split 'dev'; it has test, train"),
    ):
        with pytest.raises(InputError, match=said):
            take(hub, **wanted)


def test_a_broken_readme_does_not_keep_data_from_being_read(server: LocalHub, hub: Hub) -> None:
    server.put(REPO, {"README.md": b"---\n: bad: [\n---\n", "train.jsonl": jsonl(CHAT)})
    assert prompts(hub) == ASKS


def test_names_say_it_where_the_readme_does_not(server: LocalHub, hub: Hub) -> None:
    files = {
        "my_training_part1.jsonl": jsonl(CHAT[:1]),
        "my_training_part2.jsonl": jsonl(CHAT[1:2]),
        "dev/x.jsonl": jsonl(CHAT[2:3]),
        "holdout.jsonl": jsonl(CHAT[3:]),
        "copy/train.csv": b"a\n1\n",
    }
    server.put(REPO, files)
    assert prompts(hub) == ASKS[:2]
    assert prompts(hub, split="validation") == ASKS[2:3]
    assert prompts(hub, split="holdout") == ASKS[3:]
    with pytest.raises(InputError, match="no split 'test'; it has holdout, train, validation"):
        take(hub, split="test")


def test_max_rows_ends_the_reading(server: LocalHub, hub: Hub) -> None:
    files = {f"train-{n}.jsonl": jsonl(CHAT) for n in range(3)}
    server.put(REPO, files)
    assert prompts(hub, max_rows=7) == ASKS + ASKS[:2]
    assert server.requests("GET", "resolve/.*/train-2.jsonl") == 0


def test_a_large_table_is_read_in_pieces(server: LocalHub, hub: Hub) -> None:
    rows = [{"prompt": f"{n} " + "x" * 3000, "final_text": "f"} for n in range(8000)]
    data = parquet(rows, row_group_size=1000, compression="none", use_dictionary=False)
    server.put(REPO, {"data/train-00000-of-00001.parquet": data})
    taken, _ = take(hub, max_rows=10)
    assert [row["prompt"].split()[0] for row in taken] == [str(n) for n in range(10)]
    assert all(row["prompt"] == rows[n]["prompt"] for n, row in enumerate(taken))


def test_a_dataset_made_by_a_script_is_read_from_the_hubs_copy(server: LocalHub, hub: Hub) -> None:
    repo = server.put(REPO, {"talks.py": b"print()"})
    data = File(parquet(CHAT), large=True)
    repo.add("converted", {"default/train/0000.parquet": data}, to="refs/convert/parquet")
    assert prompts(hub) == ASKS


def test_a_revision_is_read_as_it_was(server: LocalHub, hub: Hub) -> None:
    repo = server.put(REPO, {"train.jsonl": jsonl(CHAT[:1])})
    before = repo.head.id
    server.put(REPO, {"train.jsonl": jsonl(CHAT)})
    rows, result = take(hub, revision=before[:10])
    assert (len(rows), result.revision) == (1, before)


def test_what_is_no_conversation_is_counted(server: LocalHub, hub: Hub) -> None:
    server.put(REPO, {"train.jsonl": jsonl([*CHAT, {"id": 1}]) + b"{broken\n"})
    rows, result = take(hub)
    assert (len(rows), result.rows, result.rejected) == (5, 5, 2)
    server.put(REPO, {"train.jsonl": jsonl([{"id": 1}, {"id": 2}])})
    with pytest.raises(InputError, match="no record of acme/talks, split train, is a conversation"):
        take(hub)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("data/train-00000-of-00001.parquet", parquet(CHAT)[:-200]),
        ("data/train-00000-of-00001.parquet", b"PAR1 no table"),
        ("train.jsonl.gz", gzip.compress(jsonl(CHAT))[:-10]),
        ("train.csv", b"a,b\n\xff\xfe,1\n"),
        ("train.csv.gz", gzip.compress(csv_of(CHAT))[:-20]),
    ],
    ids=["cut", "no table", "cut gzip", "no utf-8", "cut csv"],
)
def test_a_damaged_file_is_named(server: LocalHub, hub: Hub, path: str, data: bytes) -> None:
    server.put(REPO, {path: data})
    with pytest.raises(InputError, match=f"{path}.*(cannot be read|no CSV)"):
        take(hub)


def test_refusals_say_what_to_do(server: LocalHub, hub: Hub) -> None:
    server.put("strangers/closed", {"a.jsonl": b""}, gated=True)
    server.put("strangers/hidden", {"a.jsonl": b""}, private=True)
    server.put(REPO, {"README.md": b"# Nothing\n"})
    for wanted, kind, said in (
        ({"repo": "strangers/closed"}, Refused, "ask for it on its page"),
        ({"repo": "strangers/hidden"}, NotFound, "no such repository, or it is private"),
        ({"repo": "acme/none"}, NotFound, "acme/none: there is no such repository"),
        ({"revision": "v9"}, NotFound, "no such revision"),
        ({}, InputError, "no split 'train'; it has none that can be read"),
        ({"repo": "not a name"}, InputError, "not a name"),
    ):
        with pytest.raises(kind, match=said):
            take(hub, **wanted)


def test_a_hub_that_stumbles_is_no_damaged_file(server: LocalHub, hub: Hub) -> None:
    server.put(REPO, {"data/train-00000-of-00001.parquet": parquet(CHAT)})
    server.fail("GET", "/resolve/", do="drop")
    assert prompts(hub) == ASKS
    server.fail("GET", "/resolve/", status=403, times=99)
    with pytest.raises(PlatformError, match="reading data/train"):
        take(hub)


def test_a_hub_that_stays_away_is_tried_and_then_said(server: LocalHub, hub: Hub) -> None:
    server.fail("GET", "/api/datasets/acme/talks", status=503, times=99)
    with pytest.raises(Unavailable, match="run again later"):
        take(hub)


def test_a_published_repository_of_the_future_is_left_alone(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    server.put(REPO, {"whileai.json": b'{"format": 2, "splits": {}, "history": []}'})
    with pytest.raises(Refused, match="newer release"):
        take(hub)
    server.put(REPO, {"whileai.json": b"{"})
    with pytest.raises(Refused, match="cannot be read"):
        take(hub)
