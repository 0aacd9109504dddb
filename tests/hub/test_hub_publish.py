"""Publishing over real HTTP: one commit per push, splits side by side, harmless repeats."""

from __future__ import annotations

import functools
import io
import json
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hub_kit import ROWS, checkout, publication, shards, texts
from local_hub import READ_TOKEN, TOKEN, LocalHub

from whileai_core.errors import (
    Conflict,
    InputError,
    MissingExtra,
    NotAuthenticated,
    Refused,
    Unavailable,
)
from whileai_core.hub import failures
from whileai_core.hub.account import find_account
from whileai_core.hub.client import Hub
from whileai_core.hub.publish import publish
from whileai_core.hub.targets import checked_names, full_name, repo_name

REPO = "kim/orders"
COMMIT = f"/api/datasets/{REPO}/commit/main"


def test_a_push_is_one_commit_with_rows_card_and_manifest(server: LocalHub, hub: Hub) -> None:
    made = publish(hub, publication(), REPO, private=False)
    repo = server.dataset(REPO)
    assert repo.titles == ["train: ds_1, 3 rows"]
    assert (made.commit, made.tag, made.split, made.new) == (repo.head.id, "zp-ds_1", "train", True)
    assert made.url == f"{server.url}/datasets/{REPO}"
    assert repo.tags == {"zp-ds_1": repo.head.id}
    assert {"data/train-00000-of-00001.parquet", "README.md", "whileai.json"} <= set(
        repo.head.files
    )
    assert shards(server, REPO, "train") == texts(ROWS)
    manifest = json.loads(repo.head.files["whileai.json"].data)
    assert manifest["splits"]["train"]["datasetId"] == "ds_1"
    assert manifest["splits"]["train"]["numbers"]["rows"] == 3


def test_the_same_content_again_is_no_commit(server: LocalHub, hub: Hub) -> None:
    first = publish(hub, publication(), REPO, private=False)
    again = publish(hub, publication(), REPO, private=False)
    other = publish(hub, publication("ds_2"), REPO, private=False)
    repo = server.dataset(REPO)
    assert len(repo.titles) == 1
    assert (again.commit, again.new, other.commit) == (first.commit, False, first.commit)
    assert repo.tags == {"zp-ds_1": first.commit, "zp-ds_2": first.commit}


def test_a_holdout_joins_its_training_set(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    publish(hub, publication("ds_h", "holdout", ROWS[:1]), REPO, private=False)
    repo = server.dataset(REPO)
    assert repo.titles == ["train: ds_1, 3 rows", "holdout: ds_h, 1 rows"]
    assert shards(server, REPO, "train") == texts(ROWS)
    assert shards(server, REPO, "holdout") == texts(ROWS[:1])
    manifest = json.loads(repo.head.files["whileai.json"].data)
    assert list(manifest["splits"]) == ["holdout", "train"]
    assert manifest["splits"]["holdout"]["leakage"]["train"]["n_leaky"] == 1


def test_siblings_of_a_template_are_no_copies_on_the_card(server: LocalHub, hub: Hub) -> None:
    asks = [{"prompt": f"Please refund order {n} of customer {n + 7}"} for n in range(1000, 1040)]
    publish(hub, publication(rows=asks[:20]), REPO, private=False)
    publish(hub, publication("ds_h", "holdout", [*asks[20:], asks[0]]), REPO, private=False)
    repo = server.dataset(REPO)
    split = json.loads(repo.head.files["whileai.json"].data)["splits"]["holdout"]
    assert split["leakage"]["train"]["embedder"] == "ngram"  # what the nights hold out by
    card = repo.head.files["README.md"].data.decode()
    assert "1 of 21 asks near those of train (`ngram`, from 0.9)" in card
    assert "1 of 20 asks near those of holdout (`ngram`, from 0.9)" in card
    assert "similarity by the method named in brackets" in card


def test_without_pyarrow_nothing_is_made_and_a_checkout_is_helped_too(
    server: LocalHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"'whileai-pipelines\[parquet\]'.*'\.\[parquet\]'"):
        publish(hub, publication(), REPO, private=False)
    assert server.repos == {}


def test_a_new_version_replaces_the_rows_of_its_split_only(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    publish(hub, publication("ds_h", "holdout", ROWS[:1]), REPO, private=False)
    publish(hub, publication("ds_2", rows=[*ROWS[1:], {"prompt": "new"}]), REPO, private=False)
    repo = server.dataset(REPO)
    assert shards(server, REPO, "train") == texts([*ROWS[1:], {"prompt": "new"}])
    assert shards(server, REPO, "holdout") == texts(ROWS[:1])
    manifest = json.loads(repo.head.files["whileai.json"].data)
    assert manifest["splits"]["train"]["diff"] == {"added": 1, "removed": 1, "kept": 2}
    assert [entry["datasetId"] for entry in manifest["history"]] == ["ds_1"]
    assert "`ds_1` → `ds_2`, rows 3 → 3" in repo.head.files["README.md"].data.decode()
    old = next(commit for commit in repo.commits if commit.id == repo.tags["zp-ds_1"])
    assert old.title == "train: ds_1, 3 rows"


def test_files_and_words_of_others_stay(server: LocalHub, hub: Hub, tmp_path: Path) -> None:
    readme = (
        b"---\nlicense: mit\nconfigs:\n- config_name: default\n  data_files:\n"
        b"  - split: extra\n    path: extra.parquet\n---\n# Ours\n\nBy hand.\n"
    )
    extra = io.BytesIO()
    pq.write_table(pa.table({"a": [1]}), extra)
    server.put(REPO, {"README.md": readme, "extra.parquet": extra.getvalue()})
    publish(hub, publication(), REPO, private=False)
    publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False)
    files = server.dataset(REPO).head.files
    text = files["README.md"].data.decode()
    assert text.startswith("---\nlicense: mit\n")
    assert text.count("By hand.") == text.count("whileai:begin") == 1
    assert files["extra.parquet"].data == extra.getvalue()
    # Other columns need another configuration: each can still be loaded.
    datasets = pytest.importorskip("datasets")
    folder = checkout(server, REPO, tmp_path / "repo")
    load = functools.partial(datasets.load_dataset, str(folder), cache_dir=str(tmp_path / "cache"))
    assert load("default", split="extra")["a"][:] == [1]
    assert load("whileai", split="train")["row_json"][:] == texts(ROWS[:1])
    assert 'load_dataset("kim/orders", "whileai", split="train")' in text


@pytest.mark.parametrize("metadata", [b": bad: [", b"- a", b"text"])
def test_a_readme_that_cannot_be_read_is_not_written_over(
    server: LocalHub, hub: Hub, metadata: bytes
) -> None:
    repo = server.put(REPO, {"README.md": b"---\n" + metadata + b"\n---\n# By hand\n"})
    before = repo.head.id
    with pytest.raises(InputError, match="mend it on the Hub"):
        publish(hub, publication(), REPO, private=False)
    assert repo.head.id == before


def test_what_a_readme_said_of_former_columns_is_dropped(
    server: LocalHub, hub: Hub, tmp_path: Path
) -> None:
    readme = (
        b"---\ndataset_info:\n  features:\n  - name: a\n    dtype: int64\n  splits:\n"
        b"  - name: train\n    num_bytes: 8\n    num_examples: 1\nconfigs:\n"
        b"- config_name: default\n  data_files:\n  - split: train\n"
        b"    path: data/train-*.parquet\n---\n"
    )
    server.put(REPO, {"README.md": readme, "data/train-00000-of-00002.parquet": b"old"})
    publish(hub, publication(), REPO, private=False)
    datasets = pytest.importorskip("datasets")
    folder = checkout(server, REPO, tmp_path / "repo")
    loaded = datasets.load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded["row_json"][:] == texts(ROWS)


def test_equal_pushes_give_equal_bytes(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    publish(hub, publication(), "acme/orders", private=True)
    one, two = (server.dataset(name).head.files for name in (REPO, "acme/orders"))
    assert {path: file.sha256 for path, file in one.items() if path != "README.md"} == {
        path: file.sha256 for path, file in two.items() if path != "README.md"
    }


def test_private_is_private_and_stays_so(server: LocalHub, hub: Hub) -> None:
    assert publish(hub, publication(), REPO, private=True).private
    assert server.dataset(REPO).private
    assert publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False).private
    server.put("kim/open", {"a.txt": b"a"})
    before = server.dataset("kim/open").head.id
    with pytest.raises(Refused, match="kim/open is public"):
        publish(hub, publication(), "kim/open", private=True)
    assert server.dataset("kim/open").head.id == before


def test_no_rows_are_refused_before_anything_is_made(server: LocalHub, hub: Hub) -> None:
    with pytest.raises(InputError, match="ds_1 has no rows"):
        publish(hub, publication(rows=[]), REPO, private=False)
    assert server.repos == {}


def test_rights_are_checked_by_what_the_hub_says_of_the_token(
    server: LocalHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = hub.me()
    assert (me.name, me.namespaces, me.writable) == (
        "kim",
        ["kim", "acme", "lurkers"],
        {"kim", "acme"},
    )
    assert full_name(me, None, "orders") == REPO
    assert full_name(me, "acme", "orders") == "acme/orders"
    with pytest.raises(Refused, match="may not write to 'lurkers'"):
        full_name(me, "lurkers", "orders")
    with pytest.raises(Refused, match="no member of 'strangers'; it can publish to acme, kim"):
        full_name(me, "strangers", "orders")
    monkeypatch.setenv("HF_TOKEN", READ_TOKEN)
    account = find_account()
    assert account is not None
    with pytest.raises(Refused, match="write access"):
        full_name(Hub(account).me(), None, "orders")


def test_a_fine_grained_token_writes_where_it_says(server: LocalHub, hub: Hub) -> None:
    server.tokens[TOKEN]["role"] = "fineGrained"
    server.scoped = [
        {"entity": {"type": "org", "name": "acme"}, "permissions": ["repo.content.read"]},
        {"entity": {"type": "user", "name": "kim"}, "permissions": ["inference.serverless.write"]},
        {"entity": {"type": "dataset", "name": "kim/one"}, "permissions": ["repo.write"]},
        {"entity": {}, "permissions": []},
    ]
    me = hub.me()
    assert me.writable == {"kim/one"}
    assert me.scopes == [
        "discussion.write",
        "inference.serverless.write",
        "repo.content.read",
        "repo.write",
    ]
    assert full_name(me, None, "one") == "kim/one"
    for namespace in ("kim", "acme"):
        with pytest.raises(Refused, match="may not write"):
            full_name(me, namespace, "two")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Orders of Kim!", "orders-of-kim"),
        ("Köln--x..y", "koln-x.y"),
        ("…", "rows"),
        ("a" * 200, "a" * 90),
    ],
)
def test_any_text_makes_a_name(text: str, name: str) -> None:
    assert repo_name(text) == name


def test_names_are_checked() -> None:
    assert checked_names(None, "acme/set") == ("acme", "set")
    assert checked_names("acme", "set") == ("acme", "set")
    assert checked_names("", None) == (None, None)
    for namespace, repo in (
        ("kim", "acme/set"),
        (None, "a/b/c"),
        (None, "-x"),
        (None, "a--b"),
        ("../x", "y"),
    ):
        with pytest.raises(InputError):
            checked_names(namespace, repo)


def test_both_splits_and_one_set_four_times_at_once(server: LocalHub, hub: Hub) -> None:
    wanted = [publication(), publication("ds_h", "holdout", ROWS[:1]), *[publication()] * 3]
    errors: list[BaseException] = []

    def run(which: int) -> None:
        try:
            publish(hub, wanted[which], REPO, private=False)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(len(wanted))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    repo = server.dataset(REPO)
    assert sorted(repo.titles) == ["holdout: ds_h, 1 rows", "train: ds_1, 3 rows"]
    assert shards(server, REPO, "train") == texts(ROWS)
    assert shards(server, REPO, "holdout") == texts(ROWS[:1])


def test_a_lost_answer_to_the_commit_makes_no_second_one(server: LocalHub, hub: Hub) -> None:
    server.fail("POST", COMMIT, do="drop", after=True)
    made = publish(hub, publication(), REPO, private=False)
    repo = server.dataset(REPO)
    assert len(repo.titles) == 1
    assert (made.commit, made.new, repo.tags) == (repo.head.id, True, {"zp-ds_1": repo.head.id})
    server.fail("POST", COMMIT, status=502, after=True)
    publish(hub, publication("ds_2", rows=ROWS[:2]), REPO, private=False)
    assert len(repo.titles) == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/whoami-v2"),
        ("POST", "/api/repos/create"),
        ("GET", f"/api/datasets/{REPO}$"),
        ("POST", COMMIT),
        ("POST", f"/api/datasets/{REPO}/tag/"),
        ("GET", f"/api/datasets/{REPO}/refs"),
    ],
)
def test_rate_limits_and_broken_connections_pass(
    server: LocalHub, hub: Hub, method: str, path: str
) -> None:
    server.fail(method, path, status=429, headers={"Retry-After": "0"}, times=2)
    server.fail(method, path, do="drop")
    server.fail(method, path, status=503)
    hub.me()
    publish(hub, publication(), REPO, private=False)
    assert len(server.dataset(REPO).titles) == 1
    assert set(server.dataset(REPO).tags) == {"zp-ds_1"}


def test_a_hub_that_stays_away_is_an_error_and_an_unchanged_repository(
    server: LocalHub, hub: Hub
) -> None:
    publish(hub, publication(), REPO, private=False)
    before = server.dataset(REPO).head.id
    server.fail("POST", COMMIT, status=500, times=99)
    with pytest.raises(Unavailable, match="publishing to kim/orders.*run again later"):
        publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False)
    assert server.dataset(REPO).head.id == before


def test_a_change_meanwhile_is_rebased_once(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    server.fail(
        "POST", COMMIT, do="call", call=lambda: server.put(REPO, {"note.txt": b"1"}) and None
    )
    publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False)
    repo = server.dataset(REPO)
    assert repo.titles[-2:] == ["by hand", "train: ds_2, 1 rows"]
    assert "note.txt" in repo.head.files


def test_a_second_change_meanwhile_stops_with_an_error(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    count = iter(range(99))
    server.fail(
        "POST",
        COMMIT,
        do="call",
        times=99,
        call=lambda: server.put(REPO, {"note.txt": str(next(count)).encode()}) and None,
    )
    with pytest.raises(Conflict, match="changed the repository twice"):
        publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False)
    assert server.dataset(REPO).titles[-2:] == ["by hand", "by hand"]


def test_a_repository_deleted_meanwhile_is_an_error(server: LocalHub, hub: Hub) -> None:
    server.fail(
        "POST", COMMIT, do="call", call=lambda: server.repos.pop(("datasets", REPO)) and None
    )
    with pytest.raises(Exception, match="no such repository"):
        publish(hub, publication(), REPO, private=False)
    assert server.repos == {}


def test_files_deleted_or_changed_by_hand_are_made_anew(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    publish(hub, publication("ds_h", "holdout", ROWS[:1]), REPO, private=False)
    repo = server.dataset(REPO)
    train = "data/train-00000-of-00001.parquet"
    repo.add("cleared", {path: file for path, file in repo.head.files.items() if path != train})
    publish(hub, publication("ds_h2", "holdout", ROWS[:2]), REPO, private=False)
    leaks = json.loads(repo.head.files["whileai.json"].data)["splits"]["holdout"]["leakage"]
    assert leaks == {"train": {"checked": False, "why": "the files were changed by hand"}}
    assert publish(hub, publication(), REPO, private=False).new
    assert shards(server, REPO, "train") == texts(ROWS)
    server.put(REPO, {train: b"PAR1 broken"})
    publish(hub, publication("ds_2", rows=ROWS[:1]), REPO, private=False)
    assert shards(server, REPO, "train") == texts(ROWS[:1])


def test_the_hub_says_how_long_to_wait(
    server: LocalHub, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(failures.time, "sleep", waits.append)
    server.fail("GET", "/api/whoami-v2", status=429, headers={"Retry-After": "7"})
    used_up = {"RateLimit": '"api";r=0;t=55', "RateLimit-Policy": '"fixed window";"api";q=5;w=300'}
    server.fail("GET", "/api/whoami-v2", status=429, headers=used_up)
    server.fail("GET", "/api/whoami-v2", status=503, headers={"Retry-After": "99999"})
    assert hub.me().name == "kim"
    assert waits == [7, 55, failures.LONGEST_SECONDS]


def test_refusals_say_what_to_do(server: LocalHub, hub: Hub) -> None:
    for status, kind, said in (
        (401, NotAuthenticated, "does not accept the token"),
        (403, Refused, "give it write access"),
    ):
        server.fail("POST", "/api/repos/create", status=status, times=2)
        server.fail("GET", f"/api/datasets/{REPO}", status=status)
        with pytest.raises(kind, match=said) as caught:
            publish(hub, publication(), REPO, private=False)
        assert TOKEN not in str(caught.value)
        server.faults.clear()


def test_the_token_shows_nowhere(
    server: LocalHub, hub: Hub, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("DEBUG")
    server.fail("POST", COMMIT, status=500, times=2)
    publish(hub, publication(), REPO, private=False)
    said = capfd.readouterr()
    shown = caplog.text + said.out + said.err + repr(hub) + repr(hub.__dict__)
    assert TOKEN not in shown
    for file in server.dataset(REPO).head.files.values():
        assert TOKEN.encode() not in file.data


def test_the_split_follows_a_move_of_the_same_set(server: LocalHub, hub: Hub) -> None:
    publish(hub, publication(), REPO, private=False)
    publish(hub, replace(publication(), split="eval"), REPO, private=False)
    assert shards(server, REPO, "eval") == texts(ROWS)
    repo = server.dataset(REPO)
    assert repo.tags == {"zp-ds_1": repo.head.id}
