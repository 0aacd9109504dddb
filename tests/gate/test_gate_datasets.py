"""Creating, finalizing, listing, changing and deleting datasets."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from typing import Any

import pytest

ROWS = b'{"prompt": "a"}\n{"prompt": "b"}\n'


def test_a_new_dataset_is_pending_and_has_the_documented_fields(user: Any) -> None:
    dataset, url = user.create(
        name=" nightly ", purpose="train", mode="rl", agent="Bot", description="d"
    )
    row = user.call("GET", f"/datasets/{dataset}", 200)
    created = row.pop("createdAt")
    assert created.endswith("Z")
    assert row == {
        "datasetId": dataset,
        "name": "nightly",
        "purpose": "train",
        "mode": "rl",
        "agent": "bot",
        "description": "d",
        "parentDatasetId": None,
        "status": "pending",
        "rows": None,
        "sizeBytes": 0,
        "public": False,
    }
    assert dataset.startswith("ds_")
    assert url.startswith(str(user.http.base_url))


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "  "},
        {"name": 7},
        {"name": "n", "purpose": "raw"},
        {"name": "n", "mode": "RL"},
        {"name": "n", "description": ["x"]},
        {"name": "nul\0"},
        {"name": "half \ud83d"},
        {"name": "n", "agent": "…"},
    ],
)
def test_malformed_creation_is_400_and_creates_nothing(user: Any, body: dict[str, Any]) -> None:
    error = user.call("POST", "/datasets", 400, content=_escaped(body))
    assert set(error) == {"error"}
    assert user.listed() == []
    assert user.call("GET", "/agents", 200) == {"agents": []}


def _escaped(body: dict[str, Any]) -> bytes:
    import json

    return json.dumps(body).encode()


@pytest.mark.parametrize("body", [b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_no_object_is_400(user: Any, body: bytes) -> None:
    assert "JSON" in user.call("POST", "/datasets", 400, content=body)["error"]


def test_unknown_fields_are_ignored_and_null_counts_as_unsent(user: Any) -> None:
    dataset, _ = user.create(purpose=None, agent=None, schemaVersion=3)
    assert user.call("GET", f"/datasets/{dataset}", 200)["purpose"] is None


def test_the_parent_must_be_a_dataset_of_the_account(
    user: Any, new_user: Callable[[], Any]
) -> None:
    parent, _ = user.create()
    child, _ = user.create(parentDatasetId=parent, purpose="holdout")
    assert user.call("GET", f"/datasets/{child}", 200)["parentDatasetId"] == parent
    user.call("POST", "/datasets", 404, json={"name": "n", "parentDatasetId": "ds_none"})
    stranger = new_user()
    stranger.call("POST", "/datasets", 404, json={"name": "n", "parentDatasetId": parent})
    assert stranger.listed() == []


def test_finalize_counts_and_can_be_repeated(user: Any) -> None:
    dataset, url = user.create()
    user.http.put(url, content=ROWS)
    first = user.call("POST", f"/datasets/{dataset}/finalize", 200)
    assert (first["status"], first["rows"], first["sizeBytes"]) == ("ready", 2, len(ROWS))
    assert user.call("POST", f"/datasets/{dataset}/finalize", 200) == first


def test_finalize_before_any_upload_is_409(user: Any) -> None:
    dataset, _ = user.create()
    assert "uploaded" in user.call("POST", f"/datasets/{dataset}/finalize", 409)["error"]


def test_an_empty_upload_is_a_ready_set_with_one_empty_part(user: Any) -> None:
    dataset = user.push(b"")
    row = user.call("GET", f"/datasets/{dataset}", 200)
    assert (row["status"], row["rows"], row["sizeBytes"]) == ("ready", 0, 0)
    assert user.fetch(dataset) == b""


def test_bytes_that_are_not_jsonl_are_422_naming_the_line(user: Any) -> None:
    dataset, url = user.create()
    user.http.put(url, content=b'{"a": 1}\n\n{"a": \n')
    for _ in range(2):
        error = user.call("POST", f"/datasets/{dataset}/finalize", 422)["error"]
        assert error.startswith("line 3 ")
    row = user.call("GET", f"/datasets/{dataset}", 200)
    assert (row["status"], row["rows"], row["sizeBytes"]) == ("failed", None, 0)
    user.http.put(url, content=ROWS)
    assert user.call("POST", f"/datasets/{dataset}/finalize", 200)["rows"] == 2


def test_finalize_checks_size_and_hash_when_they_are_sent(user: Any) -> None:
    dataset, url = user.create()
    user.http.put(url, content=ROWS)
    finalize = f"/datasets/{dataset}/finalize"
    right = {"sizeBytes": len(ROWS), "sha256": hashlib.sha256(ROWS).hexdigest()}
    user.call("POST", finalize, 409, json=right | {"sizeBytes": 1})
    user.call("POST", finalize, 409, json=right | {"sha256": "0" * 64})
    user.call("POST", finalize, 400, json={"sizeBytes": "33"})
    assert user.call("GET", f"/datasets/{dataset}", 200)["status"] == "pending"
    for _ in range(2):
        assert user.call("POST", finalize, 200, json=right)["sha256"] == right["sha256"]


def test_a_later_upload_changes_the_data_only_at_finalize(user: Any) -> None:
    dataset, url = user.create()
    user.http.put(url, content=ROWS)
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    user.http.put(url, content=b"no json\n")
    user.call("POST", f"/datasets/{dataset}/finalize", 422)
    assert user.fetch(dataset) == ROWS
    user.http.put(url, content=b"{}\n")
    assert user.fetch(dataset) == ROWS
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    assert user.fetch(dataset) == b"{}\n"


def test_listing_is_newest_first_with_storage_used(user: Any) -> None:
    made = [user.push(ROWS), user.push(b"{}\n"), user.create()[0]]
    answer = user.call("GET", "/datasets", 200)
    assert [row["datasetId"] for row in answer["datasets"]] == made[::-1]
    assert [row["rows"] for row in answer["datasets"]] == [None, 1, 2]
    assert answer["usedBytes"] == len(ROWS) + 3


def test_meta_changes_what_was_sent_and_empty_clears(user: Any) -> None:
    dataset, _ = user.create(purpose="train", mode="sft", agent="a", description="d")
    meta = f"/datasets/{dataset}/meta"
    row = user.call("POST", meta, 200, json={"mode": "rl"})
    assert [row[k] for k in ("purpose", "mode", "agent", "description")] == [
        "train",
        "rl",
        "a",
        "d",
    ]
    cleared = user.call("POST", meta, 200, json={"agent": "", "description": ""})
    assert (cleared["agent"], cleared["description"]) == (None, None)
    user.call("POST", meta, 400, json={"purpose": "raw", "mode": "sft"})
    row = user.call("GET", f"/datasets/{dataset}", 200)
    assert (row["purpose"], row["mode"]) == ("train", "rl")


def test_deleted_sets_are_gone_everywhere(user: Any) -> None:
    dataset, url = user.create()
    user.http.put(url, content=ROWS)
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    user.call("POST", f"/datasets/{dataset}/publish", 200, json={"agent": "a"})
    part = user.call("GET", f"/datasets/{dataset}/download", 200)["parts"][0]
    gone = user.call("DELETE", f"/datasets/{dataset}", 200)
    assert gone == {"deleted": True, "datasetId": dataset}
    for path in ("", "/download", "/preview"):
        user.call("GET", f"/datasets/{dataset}{path}", 404)
    user.call("DELETE", f"/datasets/{dataset}", 404)
    user.call("GET", f"/catalog/{dataset}/download", 404)
    assert user.http.get(part).status_code == 404
    assert user.http.put(url, content=ROWS).status_code == 404
    assert user.listed() == []


def test_data_that_is_replaced_or_deleted_leaves_the_disk(serve_with: Callable[..., Any]) -> None:
    gate = serve_with()
    user = gate.user()
    dataset, url = user.create()
    for content in (ROWS, b"{}\n", ROWS):
        user.http.put(url, content=content)
        user.call("POST", f"/datasets/{dataset}/finalize", 200)
    blobs = gate.settings.folder / "blobs"
    assert sum(path.is_file() for path in blobs.rglob("*")) == 1
    user.call("DELETE", f"/datasets/{dataset}", 200)
    assert sum(path.is_file() for path in blobs.rglob("*")) == 0


def test_the_same_idempotency_key_gets_the_first_answer(user: Any) -> None:
    request = {"headers": {"X-Api-Key": user.key, "Idempotency-Key": "k-1"}, "json": {"name": "n"}}
    replies = [user.http.post("/datasets", **request) for _ in range(3)]
    assert {reply.status_code for reply in replies} == {201}
    assert {reply.headers["idempotency-key"] for reply in replies} == {"k-1"}
    assert len({reply.text for reply in replies}) == 1
    assert len(user.listed()) == 1


def test_an_idempotency_key_is_free_again_after_deletion(user: Any) -> None:
    headers = {"Idempotency-Key": "k"}
    first = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    user.call("DELETE", f"/datasets/{first['datasetId']}", 200)
    second = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    assert second["datasetId"] != first["datasetId"]


def test_an_idempotency_key_belongs_to_one_account_and_one_request(
    user: Any, new_user: Callable[[], Any]
) -> None:
    headers = {"Idempotency-Key": "k"}
    mine = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    theirs = new_user().call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
    assert mine["datasetId"] != theirs["datasetId"]
    user.call("POST", "/datasets", 409, json={"name": "other"}, headers=headers)
    user.call("POST", "/datasets", 400, json={"name": "n"}, headers={"Idempotency-Key": "k" * 256})


def test_one_key_sent_eight_times_at_once_makes_one_dataset(user: Any) -> None:
    made: list[str] = []

    def create() -> None:
        headers = {"Idempotency-Key": "same"}
        answer = user.call("POST", "/datasets", 201, json={"name": "n"}, headers=headers)
        made.append(answer["datasetId"])

    threads = [threading.Thread(target=create) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 8
    assert len(set(made)) == 1


def test_eight_writers_at_once_lose_nothing(user: Any) -> None:
    pushed: dict[str, bytes] = {}

    def write(writer: int) -> None:
        for turn in range(3):
            data = b'{"writer": %d, "turn": %d}\n' % (writer, turn) * (writer + 1)
            pushed[user.push(data, agent=f"agent-{writer % 2}")] = data

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(pushed) == 24
    assert set(user.listed()) == set(pushed)
    assert {dataset: user.fetch(dataset) for dataset in pushed} == pushed
    agents = user.call("GET", "/agents", 200)["agents"]
    assert [agent["agent"] for agent in agents] == ["agent-0", "agent-1"]
