"""The gate's side of Hugging Face, against a Hub over real HTTP."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from gate_kit import Served, User
from hub_kit import ROWS, shards, texts
from local_hub import READ_TOKEN, TOKEN, LocalHub

from whileai_core.gate import hubjobs, jobs
from whileai_core.gate.settings import GateSettings
from whileai_core.hub import failures

DATA = "".join(f"{text}\n" for text in texts(ROWS)).encode()


@pytest.fixture(scope="module")
def patience() -> Iterator[None]:
    """Workers look often and try again soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "_POLL_SECONDS", 0.03)
        patch.setattr(jobs, "_BACKOFF_MS", 5)
        patch.setattr(failures, "BASE_SECONDS", 0.001)
        yield


@pytest.fixture(scope="module")
def served(patience: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A gate on SQLite; the Hub is what is slow here, and is the same for every database."""
    with Served(GateSettings(folder=tmp_path_factory.mktemp("gate"))) as gate:
        yield gate


@pytest.fixture
def other_user(
    patience: None, new_database: Callable[[], str | None], tmp_path: Path
) -> Iterator[User]:
    """An account of a gate on SQLite, then on PostgreSQL."""
    with Served(GateSettings(folder=tmp_path, database_url=new_database())) as gate:
        yield gate.user()


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LocalHub]:
    server = LocalHub()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    yield server
    server.close()


def wait(user: User, path: str, key: str = "hf") -> Any:
    """Wait until a job is over; return what the gate says of it."""
    for _ in range(1000):
        row = user.call("GET", path, 200)
        state = row.get("status") if key == "hfImport" else row["hf"]["status"]
        if state not in {"pushing", "importing"}:
            return row if key == "hfImport" else row["hf"]
        time.sleep(0.02)
    raise AssertionError("the job does not end")


def published(user: User, dataset: str, **target: Any) -> Any:
    answer = user.call("POST", f"/datasets/{dataset}/hf-publish", 202, json=target)
    assert answer["datasetId"] == dataset
    assert answer["hf"]["status"] == "pushing"
    return wait(user, f"/datasets/{dataset}")


def imported(user: User, **wanted: Any) -> Any:
    row = user.call("POST", "/datasets/import-hf", 202, json=wanted)
    assert row["status"] == "importing"
    assert row["hfImport"]["repo"] == wanted["repo"]
    return wait(user, f"/datasets/{row['datasetId']}", "hfImport")


def test_the_account_is_shown(user: User, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert user.call("GET", "/hf/me", 200) == {
        "connected": True,
        "username": "kim",
        "namespaces": ["kim", "acme", "lurkers"],
        "scopes": ["write"],
    }
    monkeypatch.setenv("HF_TOKEN", "hf_unknownToken")
    refused = user.call("GET", "/hf/me", 200)
    assert (refused["connected"], refused["namespaces"]) == (False, [])
    assert "does not accept the token" in refused["error"]
    hub.fail("GET", "/api/whoami-v2", status=500, times=99)
    assert "trouble" in user.call("GET", "/hf/me", 503)["error"]


def test_without_an_account_everything_is_refused(user: User) -> None:
    dataset = user.push(DATA)
    unconnected = {"connected": False, "username": None, "namespaces": [], "scopes": []}
    assert user.call("GET", "/hf/me", 200) == unconnected
    for path, body in (
        (f"/datasets/{dataset}/hf-publish", {}),
        ("/datasets/import-hf", {"repo": "a/b"}),
    ):
        reason = user.call("POST", path, 409, json=body)["error"]
        assert "no Hugging Face account is connected" in reason
    assert user.listed() == [dataset]


def test_a_training_set_and_its_holdout_share_a_repository(user: User, hub: LocalHub) -> None:
    train = user.push(DATA, name="Orders: Nov 28", purpose="train")
    held = user.push(DATA, name="other", purpose="holdout", parentDatasetId=train)
    hf = published(user, train)
    assert hf == {
        "status": "done",
        "repo": "kim/orders-nov-28",
        "url": f"{hub.url}/datasets/kim/orders-nov-28",
        "commit": hub.dataset("kim/orders-nov-28").head.id,
        "tag": f"zp-{train}",
        "split": "train",
        "private": False,
    }
    assert published(user, held)["repo"] == hf["repo"]
    repo = hub.dataset("kim/orders-nov-28")
    assert set(repo.tags) == {f"zp-{train}", f"zp-{held}"}
    assert shards(hub, hf["repo"], "train") == shards(hub, hf["repo"], "holdout") == texts(ROWS)
    again = published(user, train)
    assert (again["commit"], len(repo.titles)) == (hf["commit"], 2)


def test_the_target_is_the_askers_choice(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="a")
    hf = published(user, dataset, namespace="acme", repo="talks", private=True)
    assert (hf["repo"], hf["split"], hf["private"]) == ("acme/talks", "train", True)
    assert hub.dataset("acme/talks").private
    child = user.push(DATA, name="b", purpose="eval", parentDatasetId=dataset)
    assert published(user, child)["repo"] == "acme/talks"


def test_refused_targets_leave_nothing(
    user: User, hub: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = user.push(DATA)
    path = f"/datasets/{dataset}/hf-publish"
    for body in ({"repo": "a--b"}, {"namespace": "x", "repo": "y/z"}, {"private": "yes"}):
        user.call("POST", path, 400, json=body)
    assert "no member of 'strangers'" in published(user, dataset, namespace="strangers")["error"]
    assert "may not write" in published(user, dataset, namespace="lurkers")["error"]
    monkeypatch.setenv("HF_TOKEN", READ_TOKEN)
    assert "write access" in published(user, dataset)["error"]
    assert hub.repos == {}
    user.call("POST", "/datasets/ds_none/hf-publish", 404)
    pending, _ = user.create()
    user.call("POST", f"/datasets/{pending}/hf-publish", 409)
    user.call("POST", f"/datasets/{user.push(b'')}/hf-publish", 409)


def test_what_is_under_way_is_joined(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="joined")
    hub.fail("GET", "/api/whoami-v2", do="wait", seconds=0.5)
    path = f"/datasets/{dataset}/hf-publish"
    first = user.call("POST", path, 202, json={})
    assert user.call("POST", path, 202, json={}) == first
    reason = user.call("POST", path, 409, json={"repo": "elsewhere"})["error"]
    assert "being published to joined" in reason
    assert wait(user, f"/datasets/{dataset}")["status"] == "done"
    assert len(hub.dataset("kim/joined").titles) == 1


def test_many_at_once_end_well(user: User, hub: LocalHub) -> None:
    train = user.push(DATA, name="many", purpose="train")
    held = user.push(DATA, name="many", purpose="holdout", parentDatasetId=train)
    other = user.push(DATA, name="many", purpose="eval", parentDatasetId=train)

    def publish(dataset: str) -> None:
        user.call("POST", f"/datasets/{dataset}/hf-publish", 202, json={"repo": "many"})

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(publish, [train, held, train, other, train, train]))
    for dataset in (train, held, other):
        assert wait(user, f"/datasets/{dataset}")["status"] == "done"
    repo = hub.dataset("kim/many")
    assert sorted(title.split(":")[0] for title in repo.titles) == ["eval", "holdout", "train"]
    assert all(
        shards(hub, "kim/many", split) == texts(ROWS) for split in ("train", "holdout", "eval")
    )


def test_what_passes_is_tried_again_and_what_does_not_is_said(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="later")
    commit = "/api/datasets/kim/later/commit/"
    hub.fail("POST", commit, status=500, times=failures.ATTEMPTS + 1)
    assert published(user, dataset)["status"] == "done"
    assert len(hub.dataset("kim/later").titles) == 1
    changed = user.push(DATA + b'{"prompt": "new"}\n', name="later", parentDatasetId=dataset)
    before = hub.dataset("kim/later").head.id
    hub.fail("POST", commit, status=500, times=failures.ATTEMPTS * hubjobs.MOST_ATTEMPTS)
    hf = published(user, changed)
    assert (hf["status"], hub.dataset("kim/later").head.id) == ("error", before)
    assert "run again later" in hf["error"]
    assert published(user, changed)["status"] == "done"


def test_a_dataset_deleted_meanwhile_is_no_trouble(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="gone")
    hub.fail("GET", "/api/whoami-v2", do="wait", seconds=0.3)
    user.call("POST", f"/datasets/{dataset}/hf-publish", 202)
    user.call("DELETE", f"/datasets/{dataset}", 200)
    other = user.push(DATA, name="stays")
    assert published(user, other)["status"] == "done"


def test_an_import_is_a_dataset(user: User, hub: LocalHub) -> None:
    rows = [{"prompt": f"{n}", "steps": [], "final_text": "f"} for n in range(5)]
    hub.put("acme/talks", {"train.jsonl": "".join(map("{}\n".format, texts(rows))).encode()})
    row = imported(
        user, repo="acme/talks", max_rows=3, purpose="eval", agent="Shop", mode="sft", name="mine"
    )
    assert (row["status"], row["rows"], row["purpose"], row["agent"], row["name"]) == (
        "ready",
        3,
        "eval",
        "shop",
        "mine",
    )
    data = user.fetch(row["datasetId"])
    assert [json.loads(line) for line in data.splitlines()] == rows[:3]
    assert row["sizeBytes"] == len(data)
    assert row["hfImport"] == {
        "repo": "acme/talks",
        "split": "train",
        "revision": None,
        "config": None,
        "maxRows": 3,
        "commit": hub.dataset("acme/talks").head.id,
        "rejected": 0,
    }


def test_what_was_published_is_imported_to_the_letter(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="round", purpose="holdout")
    published(user, dataset)
    row = imported(user, repo="kim/round", split="holdout", purpose="holdout")
    assert user.fetch(row["datasetId"]) == DATA


def test_a_failed_import_says_why(user: User, hub: LocalHub) -> None:
    hub.put("strangers/closed", {"a.jsonl": b""}, gated=True)
    hub.put("acme/odd", {"train.parquet": b"PAR1 broken"})
    for wanted, said in (
        ({"repo": "acme/none"}, "no such repository"),
        ({"repo": "strangers/closed"}, "ask for it on its page"),
        ({"repo": "acme/odd", "split": "test"}, "no split 'test'; it has train"),
        ({"repo": "acme/odd", "config": "fr"}, "no configuration 'fr'"),
        ({"repo": "acme/odd"}, "train.parquet of acme/odd cannot be read"),
    ):
        row = imported(user, **wanted)
        assert (row["status"], row["rows"]) == ("failed", None)
        assert said in row["hfImport"]["error"]
    for body in (
        {},
        {"repo": 7},
        {"repo": "a/b", "purpose": "fun"},
        {"repo": "a/b", "max_rows": 0},
        {"repo": "a/b", "mode": "x"},
    ):
        user.call("POST", "/datasets/import-hf", 400, json=body)


def test_one_key_imports_once(user: User, hub: LocalHub) -> None:
    hub.put("acme/talks", {"train.jsonl": b'{"prompt": "a", "final_text": "b"}\n'})
    headers = {"Idempotency-Key": "k"}
    body = {"repo": "acme/talks"}
    made = {
        user.call("POST", "/datasets/import-hf", 202, json=body, headers=headers)["datasetId"]
        for _ in range(3)
    }
    assert len(made) == 1
    wait(user, f"/datasets/{made.pop()}", "hfImport")
    user.call("POST", "/datasets/import-hf", 409, json={"repo": "a/b"}, headers=headers)


TALK = b'{"prompt": "a", "final_text": "b"}\n'


def test_the_same_commit_is_imported_once(user: User, hub: LocalHub) -> None:
    hub.put("acme/talks", {"train.jsonl": TALK, "test.jsonl": TALK})

    def take(**wanted: Any) -> Any:
        path = "/datasets/import-hf"
        row = user.call("POST", path, 202, json={"repo": "acme/talks"} | wanted)
        return wait(user, f"/datasets/{row['datasetId']}", "hfImport")

    first = take()
    commit = first["hfImport"]["commit"]
    for same in ({}, {"split": "train", "purpose": "train"}, {"revision": commit}):
        assert take(**same)["datasetId"] == first["datasetId"]
    others: list[dict[str, Any]] = [
        {"split": "test"},
        {"max_rows": 1},
        {"name": "n"},
        {"purpose": "eval"},
        {"agent": "shop"},
        {"description": "d"},
    ]
    made = {take(**other)["datasetId"] for other in others}
    assert len(made - {first["datasetId"]}) == len(others)
    hub.put("acme/talks", {"train.jsonl": TALK * 2})
    second = take()
    assert (second["rows"], second["hfImport"]["commit"] != commit) == (2, True)
    assert take()["datasetId"] == second["datasetId"] != first["datasetId"]
    assert take(revision=commit)["datasetId"] == first["datasetId"]
    user.call("DELETE", f"/datasets/{second['datasetId']}", 200)
    assert take()["datasetId"] not in {first["datasetId"], second["datasetId"]}


def test_an_import_under_way_is_joined(other_user: User, hub: LocalHub) -> None:
    hub.put("acme/talks", {"train.jsonl": TALK})
    hub.fail("GET", "/api/datasets/acme/talks", do="wait", seconds=0.5)

    def ask(_: int) -> str:
        body = {"repo": "acme/talks"}
        row = other_user.call("POST", "/datasets/import-hf", 202, json=body)
        return str(row["datasetId"])

    with ThreadPoolExecutor(4) as pool:
        made = set(pool.map(ask, range(4)))
    assert len(made) == 1
    assert wait(other_user, f"/datasets/{made.pop()}", "hfImport")["status"] == "ready"


def test_an_import_survives_a_hub_that_stumbles(user: User, hub: LocalHub) -> None:
    hub.put("acme/talks", {"train.jsonl": b'{"prompt": "a", "final_text": "b"}\n'})
    hub.fail("GET", "/api/datasets/acme/talks", status=503, times=failures.ATTEMPTS + 1)
    assert imported(user, repo="acme/talks")["status"] == "ready"
    hub.fail("GET", "/api/datasets/acme/talks", status=503, times=99)
    row = imported(user, repo="acme/talks")
    assert "run again later" in row["hfImport"]["error"]


def adapter(user: User, files: dict[str, bytes], **fields: Any) -> str:
    run = str(user.call("POST", "/runs", 201, json={"name": "Night 1"} | fields)["runId"])
    grant = user.call("POST", f"/runs/{run}/adapter", 201, json={"files": list(files)})
    for file in grant["files"]:
        assert user.http.put(file["uploadUrl"], content=files[file["path"]]).status_code == 200
    return run


WEIGHTS = {"adapter_model.safetensors": b"\0weights", "adapter_config.json": b'{"r": 8}'}


def test_an_adapter_goes_through_the_gate_to_the_hub(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="data")
    published(user, dataset)
    run = adapter(user, WEIGHTS, base_model="acme/base", dataset_id=dataset)
    user.call("POST", f"/runs/{run}/finish", 200, json={"pass_rate": 0.5})
    row = user.call("GET", f"/runs/{run}", 200)
    assert row["adapter"]["files"] == [
        {"path": path, "sizeBytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for path, data in sorted(WEIGHTS.items())
    ]
    begun = user.call("POST", f"/runs/{run}/hf-publish", 202)
    assert (begun["runId"], begun["hf"]["tag"]) == (run, f"zp-{run}")
    hf = wait(user, f"/runs/{run}")
    repo = hub.repos["models", "kim/night-1"]
    assert (hf["repo"], hf["private"], repo.private) == ("kim/night-1", True, True)
    assert repo.tags == {f"zp-{run}": hf["commit"]}
    assert {path: repo.head.files[path].data for path in WEIGHTS} == WEIGHTS
    card = repo.head.files["README.md"].data.decode()
    assert "base_model: acme/base" in card
    assert "- kim/data" in card
    assert "| pass_rate | 0.5 |" in card


def test_a_public_card_names_public_data_only(user: User, hub: LocalHub) -> None:
    dataset = user.push(DATA, name="data")
    run = adapter(user, WEIGHTS, dataset_id=dataset)

    def named(repo: str, *, private: bool) -> str:
        body = {"repo": repo, "private": private}
        user.call("POST", f"/runs/{run}/hf-publish", 202, json=body)
        assert wait(user, f"/runs/{run}")["private"] is private
        return hub.repos["models", f"kim/{repo}"].head.files["README.md"].data.decode()

    published(user, dataset, repo="inner", private=True)
    assert "kim/inner" not in named("open-1", private=False)
    published(user, dataset, repo="outer")
    published(user, dataset, repo="inner", private=True)
    assert "kim/inner" in named("closed", private=True)
    card = named("open-2", private=False)
    assert "- kim/outer" in card
    assert "kim/inner" not in card
    hub.dataset("kim/outer").private = True
    assert "kim/outer" not in named("open-3", private=False)


def test_an_adapter_is_replaced_file_by_file(user: User, served: Served, tmp_path: Path) -> None:
    run = adapter(user, WEIGHTS)
    other = {"files": ["adapter_config.json", "new/x.bin"]}
    grant = user.call("POST", f"/runs/{run}/adapter", 201, json=other)
    for _ in range(2):
        assert user.http.put(grant["files"][1]["uploadUrl"], content=b"x").status_code == 200
    files = user.call("GET", f"/runs/{run}", 200)["adapter"]["files"]
    assert [(file["path"], file["sizeBytes"]) for file in files] == [
        ("adapter_config.json", 8),
        ("new/x.bin", 1),
    ]
    user.call("DELETE", f"/runs/{run}", 200)
    assert user.http.put(grant["files"][1]["uploadUrl"], content=b"x").status_code == 404
    assert user.http.put("/adapters/1.ffffffff.forged", content=b"x").status_code == 403


def test_runs_without_a_whole_adapter_are_refused(user: User, hub: LocalHub) -> None:
    run = str(user.call("POST", "/runs", 201, json={"name": "n"})["runId"])
    path = f"/runs/{run}/hf-publish"
    assert "has no adapter" in user.call("POST", path, 409)["error"]
    user.call("POST", f"/runs/{run}/adapter", 201, json={"files": ["a.bin"]})
    assert "a.bin" in user.call("POST", path, 409)["error"]
    user.call("POST", "/runs/run_none/hf-publish", 404)
    user.call("POST", "/runs/run_none/adapter", 404, json={"files": ["a"]})
    for files in ([], "a", ["../a"], [1], ["a"] * 201, ["whileai.json"]):
        user.call("POST", f"/runs/{run}/adapter", 400, json={"files": files})


def test_strangers_see_nothing(user: User, new_user: Callable[[], User], hub: LocalHub) -> None:
    dataset, run = user.push(DATA), adapter(user, WEIGHTS)
    stranger = new_user()
    stranger.call("POST", f"/datasets/{dataset}/hf-publish", 404)
    stranger.call("POST", f"/runs/{run}/hf-publish", 404)
    stranger.call("POST", f"/runs/{run}/adapter", 404, json={"files": ["a"]})
    assert hub.repos == {}


def test_it_is_the_same_on_every_database(other_user: User, hub: LocalHub) -> None:
    dataset = other_user.push(DATA, name="data")
    assert published(other_user, dataset)["status"] == "done"
    row = imported(other_user, repo="kim/data", agent="shop")
    assert other_user.fetch(row["datasetId"]) == DATA
    run = adapter(other_user, WEIGHTS)
    other_user.call("POST", f"/runs/{run}/hf-publish", 202)
    assert wait(other_user, f"/runs/{run}")["status"] == "done"
    other_user.call("DELETE", f"/runs/{run}", 200)


def test_a_gate_that_stops_leaves_its_jobs_to_the_next(
    patience: None, hub: LocalHub, tmp_path: Path
) -> None:
    settings = GateSettings(folder=tmp_path)
    asked = threading.Event()
    hub.fail("GET", "/api/whoami-v2", do="wait", seconds=1.5, call=asked.set)
    with Served(settings) as gate:
        user = gate.user()
        dataset = user.push(DATA, name="left")
        user.call("POST", f"/datasets/{dataset}/hf-publish", 202)
        assert asked.wait(60)
    with Served(settings) as gate:
        assert wait(User(gate.http, user.key), f"/datasets/{dataset}")["status"] == "done"
    assert len(hub.dataset("kim/left").titles) == 1
