"""Sources of every packing and layout give the same records."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from typing import TYPE_CHECKING, Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core.dialects.reading import RowItem, read_items
from whileai_core.errors import SourceNotFound, UnreadableSource
from whileai_core.sources.items import Ignored, Reject
from whileai_core.sources.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ROWS = [{"prompt": f"ask {number}", "final_text": "reply é"} for number in range(3)]
LINES = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def prompts(source: object, **options: Any) -> list[str]:
    return [
        item.row["prompt"] for item in read_items(source, **options) if isinstance(item, RowItem)
    ]


def rejects(source: object, **options: Any) -> list[Reject]:
    return [item for item in read_items(source, **options) if isinstance(item, Reject)]


LAYOUTS: dict[str, Callable[[list[dict[str, Any]]], bytes]] = {
    "lines": lambda rows: b"\n".join(json.dumps(row).encode() for row in rows),
    "lines with CRLF": lambda rows: b"".join(json.dumps(row).encode() + b"\r\n" for row in rows),
    "byte order mark": lambda rows: b"\xef\xbb\xbf" + LINES,
    "blank lines": lambda rows: b"\n\n".join(json.dumps(row).encode() for row in rows) + b"\n \n",
    "array": lambda rows: json.dumps(rows).encode(),
    "array over lines": lambda rows: json.dumps(rows, indent=2).encode(),
    "array, a record a line": lambda rows: (
        b"[\n" + b",\n".join(json.dumps(row).encode() for row in rows) + b"\n]\n"
    ),
    "one after the other": lambda rows: b"".join(json.dumps(row).encode() for row in rows),
    "one after the other over lines": lambda rows: b"\n".join(
        json.dumps(row, indent=1).encode() for row in rows
    ),
    "text sequence": lambda rows: b"".join(
        b"\x1e" + json.dumps(row).encode() + b"\n" for row in rows
    ),
    "UTF-16": lambda rows: "\n".join(json.dumps(row) for row in rows).encode("utf-16"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_hold_the_same_records(layout: str) -> None:
    items = list(read_items(LAYOUTS[layout](ROWS)))
    assert [item.row["prompt"] for item in items if isinstance(item, RowItem)] == [
        row["prompt"] for row in ROWS
    ]
    assert len(items) == len(ROWS)


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "gzip members": lambda data: gzip.compress(data[:20]) + gzip.compress(data[20:]),
    "zstd": lambda data: zstandard.compress(data),
    "zstd frames": lambda data: zstandard.compress(data[:20]) + zstandard.compress(data[20:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zip": lambda data: zipped(rows=data),
    "gzip in zip": lambda data: zipped(rows=gzip.compress(data)),
    "gzip twice": lambda data: gzip.compress(gzip.compress(data)),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_packings_are_recognised_by_content(packing: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_bytes(PACKINGS[packing](LINES))
    expected = [row["prompt"] for row in ROWS]
    assert prompts(path) == expected
    assert prompts(path.read_bytes()) == expected
    with path.open("rb") as file:
        assert prompts(file) == expected


@pytest.mark.parametrize("packing", ["gzip", "zstd", "bzip2", "xz"])
def test_a_cut_file_gives_what_came_before_and_says_so(packing: str) -> None:
    many = b"".join(b'{"prompt": "%d"}\n' % number for number in range(20_000))
    packed = PACKINGS[packing](many)
    items = list(read_items(packed[: len(packed) * 3 // 4]))
    reasons = [item.reason for item in items if isinstance(item, Reject)]
    assert reasons.count("truncated") == 1
    rows = [item for item in items if isinstance(item, RowItem)]
    assert [item.row["prompt"] for item in rows] == [str(number) for number in range(len(rows))]


@pytest.mark.parametrize("packing", ["gzip", "zstd", "bzip2", "xz", "zip"])
def test_a_bomb_becomes_a_reject(packing: str) -> None:
    bomb = PACKINGS[packing](b" " * 20_000_000)
    limits = Limits(record_bytes=1_000_000, unpacked_bytes=4_000_000)
    assert {reject.reason for reject in rejects(bomb, limits=limits)} <= {"too_large"}
    assert rejects(bomb, limits=limits)


def test_an_overlong_line_costs_only_itself() -> None:
    long = b'{"prompt": "' + b"x" * 3_000_000 + b'"}\n'
    source = b'{"prompt": "a"}\n' + long + b'{"prompt": "b"}\n'
    limits = Limits(record_bytes=1_000_000)
    assert prompts(source, limits=limits) == ["a", "b"]
    (reject,) = rejects(source, limits=limits)
    assert (reject.reason, reject.origin.position) == ("too_large", "line 2")


def test_damaged_members_of_an_archive_do_not_stop_the_others() -> None:
    archive = zipped(a=LINES, b=LINES[:30] * 50, c=LINES)
    place = archive.index(b"b", archive.index(b"PK\x03\x04", 10)) + 8
    damaged = archive[:place] + b"\xff\xff\xff" + archive[place + 3 :]
    assert len(prompts(damaged)) == 2 * len(ROWS)
    assert rejects(damaged)


def test_only_the_samples_of_an_evaluation_log_are_read() -> None:
    sample = json.dumps({"prompt": "q"}).encode()
    log = zipped(**{"header.json": b"{}", "samples/1.json": sample, "summaries.json": b"[{}]"})
    items = list(read_items(log))
    assert [type(item) for item in items] == [Ignored, RowItem, Ignored]


def test_bad_bytes_are_contained_to_their_line() -> None:
    source = b'{"prompt": "a"}\n{"prompt": "\xff"}\n{"prompt": "c"}\n'
    assert prompts(source) == ["a", "c"]
    (reject,) = rejects(source)
    assert reject.reason == "not_utf8"
    assert reject.origin.position == "line 2"
    assert "\\xff" in reject.raw


def test_bad_bytes_are_contained_to_their_item() -> None:
    source = b'[\n {"prompt": "a"},\n {"prompt": "\xff"},\n {"prompt": "c"}\n]\n'
    assert prompts(source) == ["a", "c"]
    assert [reject.reason for reject in rejects(source)] == ["not_utf8"]


@pytest.mark.parametrize(
    "source",
    [
        b'{"prompt": "a\n{"prompt": "b"}\n{"prompt": "c"}\n',
        b'{"prompt": "b"}\n{"prompt": "a\n{"prompt": "c"}\n',
        b'{"prompt": "b"}\n{"prompt": "c"}\n{"prompt": "a',
        b'[\n {\n  "prompt": "b"\n },\n {\n  "prompt":\n },\n {\n  "prompt": "c"\n }\n]\n',
    ],
)
def test_a_broken_record_costs_only_itself(source: bytes) -> None:
    assert prompts(source) == ["b", "c"]
    assert len(rejects(source)) == 1


def test_a_cut_array_gives_its_whole_items() -> None:
    whole = json.dumps(ROWS, indent=2).encode()
    assert prompts(whole[:-20]) == [row["prompt"] for row in ROWS[:-1]]
    assert len(rejects(whole[:-20])) == 1


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0b", "\x0c"])
def test_only_a_line_feed_ends_a_record(separator: str) -> None:
    row = json.dumps({"prompt": f"a{separator}b"}, ensure_ascii=False)
    assert prompts((row + "\n" + row + "\n").encode()) == [f"a{separator}b"] * 2


@pytest.mark.parametrize(
    "source", [b"# A readme\n\nwith words\n", b"\x89PNG\r\n\x1a\n\0\0", b"\0" * 5000]
)
def test_a_file_of_another_kind_is_one_reject(source: bytes) -> None:
    assert [reject.reason for reject in rejects(source)] == ["unknown_format"]


def test_an_empty_file_is_ignored_and_counted() -> None:
    for source in (b"", b" \n\n", gzip.compress(b""), zipped()):
        (item,) = read_items(source)
        assert isinstance(item, Ignored)


def test_folders_globs_and_urls(tmp_path: Path) -> None:
    for name in ("b/two.jsonl", "a/one.jsonl", ".hidden/x.jsonl", "c/.part"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"prompt": name}))
    assert prompts(tmp_path) == ["a/one.jsonl", "b/two.jsonl"]
    assert prompts(str(tmp_path / "*" / "*.jsonl")) == ["a/one.jsonl", "b/two.jsonl"]
    assert prompts(f"file://{tmp_path}/a/one.jsonl") == ["a/one.jsonl"]
    assert prompts(f"file://{tmp_path}/*/two.jsonl") == ["b/two.jsonl"]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert len(prompts("-")) == len(ROWS)


def test_what_is_not_there_raises_at_once(tmp_path: Path) -> None:
    for name in (
        "",
        "nothing.jsonl",
        "nothing/*.jsonl",
        f"file://{tmp_path}/nothing.jsonl",
        "a\0b",
    ):
        with pytest.raises(SourceNotFound):
            read_items(name)


def test_an_unknown_protocol_is_unreadable() -> None:
    with pytest.raises(UnreadableSource) as caught:
        read_items("nosuch://user:secret@host/rows.jsonl?token=secret")
    assert "secret" not in str(caught.value)


def test_tables(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    steps = [{"tool": "f", "arguments": '{"q": 1}', "result": "ok", "text": None}]
    table = pa.Table.from_pylist(
        [
            {"prompt": "a", "steps": steps, "final_text": None, "reward": 1.0},
            {"prompt": "b", "steps": [], "final_text": "x", "reward": None},
        ]
    )
    pq.write_table(table, tmp_path / "rows.parquet")
    with (
        pa.OSFile(str(tmp_path / "rows.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    for name in ("rows.parquet", "rows.arrow"):
        first, second = [i.row for i in read_items(tmp_path / name) if isinstance(i, RowItem)]
        assert first["steps"] == [{"tool": "f", "arguments": {"q": 1}, "result": "ok"}]
        assert first["reward"] == 1
        assert (second["final_text"], "reward" in second) == ("x", False)
        assert len(prompts((tmp_path / name).read_bytes())) == 2
    cut = (tmp_path / "rows.parquet").read_bytes()[:-20]
    assert [reject.reason for reject in rejects(cut)] == ["corrupt"]


STARTS = (
    *(b"", b"{", b"[", b'{"prompt": "a"}\n', b"\xff\xfe", b"\xef\xbb\xbf"),
    *(b"\x1f\x8b\x08", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"BZh9", b"\xfd7zXZ\x00"),
    *(b"PAR1", b"ARROW1", b"\n\x05\n\x03"),
)


@settings(max_examples=150, deadline=None)
@given(
    st.binary(max_size=300),
    st.sampled_from(STARTS),
)
def test_no_bytes_raise(data: bytes, start: bytes) -> None:
    for item in read_items(start + data):
        assert item.origin.source.startswith("<memory>")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PACKINGS)), st.data())
def test_damaged_packings_do_not_raise(packing: str, data: st.DataObject) -> None:
    packed = bytearray(PACKINGS[packing](LINES))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    list(read_items(bytes(packed[: data.draw(st.integers(0, len(packed)))])))


lines = st.lists(
    st.sampled_from(
        [b'{"prompt": "a"}', b'{"x": 1}', b"oops", b"[1, 2]", b"null", b'{"prompt": "\xfe"}', b"3"]
    ),
    min_size=1,
    max_size=30,
)


@settings(deadline=None)
@given(lines)
def test_every_line_is_accounted_for(pieces: list[bytes]) -> None:
    source = b'{"prompt": "first"}\n' + b"\n".join(pieces)
    items = list(read_items(source))
    expected = 1 + sum(2 if piece == b"[1, 2]" else 1 for piece in pieces)
    assert len(items) == expected
