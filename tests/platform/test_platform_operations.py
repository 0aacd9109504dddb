"""Operations that are one or a few requests: what is sent, what is handed on, what is refused."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from whileai_core import errors, sync
from whileai_core.platform import _hub

if TYPE_CHECKING:
    from fault_platform import FaultPlatform


def test_update_changes_what_is_passed(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b"{}"], agent="kim", description="old")
    row = sync.update_dataset(dataset_id, purpose="eval", description="")
    assert (row["purpose"], row["description"], row["agent"]) == ("eval", "", "kim")
    (meta,) = platform.calls("POST", ".*/meta")
    assert json.loads(meta.body) == {"purpose": "eval", "description": ""}
    for wrong in ({}, {"mode": "raw"}, {"purpose": "test"}):
        with pytest.raises(errors.InputError):
            sync.update_dataset(dataset_id, **wrong)
    assert len(platform.seen) == 1


def test_delete_is_once_and_a_lost_answer_is_no_failure(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b"{}"])
    platform.fault("DELETE", "/datasets/.*", "reset", after=True)
    assert sync.delete_dataset(dataset_id) == {}
    with pytest.raises(errors.NotFound):
        sync.delete_dataset(dataset_id)


def test_profile_and_preview(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b"{}"])
    assert sync.profile(dataset_id, force=True) == {"rows": 1}
    assert platform.seen[0].query == "force=1"
    assert sync.preview(dataset_id)["datasetId"] == dataset_id


def test_publish_unpublish_catalog(platform: FaultPlatform) -> None:
    dataset_id = platform.add_set([b"{}"])
    with pytest.raises(errors.InputError):
        sync.publish(dataset_id, " ")
    sync.publish(dataset_id, "kim", "")
    assert json.loads(platform.seen[0].body) == {"agent": "kim"}
    sync.unpublish(dataset_id)
    assert platform.seen[1].body == b""
    assert "content-type" not in platform.seen[1].headers
    sync.catalog()
    assert "x-api-key" not in platform.seen[2].headers


def test_empty_sets_go_and_unfinished_young_ones_stay(platform: FaultPlatform) -> None:
    old = (datetime.now(UTC) - timedelta(days=1)).isoformat()
    young = datetime.now(UTC).isoformat().replace("+00:00", "Z")
    full = platform.add_set([b"{}"], rows=5)
    small = platform.add_set([b"{}"], rows=1)
    empty = platform.add_set([])
    abandoned = platform.add_set([], status="pending", createdAt=old)
    busy = platform.add_set([], status="importing", createdAt=young)
    unknown = platform.add_set([], status="pending")
    plan = sync.delete_empty_datasets(dry_run=True)
    assert plan == {"datasets": [abandoned, empty], "deleted": False, "skipped": [unknown, busy]}
    assert len(platform.sets) == 6
    platform.fault("DELETE", f"/datasets/{empty}", status=404)
    assert sync.delete_empty_datasets(max_rows=1)["datasets"] == [abandoned, empty, small]
    assert sync.delete_empty_datasets(force=True)["datasets"] == [unknown, busy, empty]
    assert list(platform.sets) == [full]


def test_agents(platform: FaultPlatform) -> None:
    sync.register_agent("kim", tools=({"name": "t"},), system_prompt="")
    assert sync.agents() == [{"name": "kim", "tools": [{"name": "t"}], "system_prompt": ""}]
    with pytest.raises(errors.InputError):
        sync.register_agent("  ")


def test_purge_counts_first_and_then_removes_everything(platform: FaultPlatform) -> None:
    platform.traces = [f"t{n}" for n in range(5)]
    platform.agents = [{"name": "kim"}]
    mine = platform.add_set([b"{}"], agent="kim")
    other = platform.add_set([b"{}"], agent="kimberly")
    plan = sync.purge_agent(" KIM ", dry_run=True)
    assert plan == {"agent": "kim", "traces": 5, "datasets": 1, "deleted": False}
    assert all(seen.method == "GET" for seen in platform.seen)
    platform.fault("DELETE", "/traces/.*", status=429, headers={"Retry-After": "0"}, times=3)
    platform.fault("DELETE", f"/datasets/{mine}", "reset", after=True)
    assert sync.purge_agent("kim") == plan | {"deleted": True}
    assert (platform.traces, platform.agents, list(platform.sets)) == ([], [], [other])
    assert sync.purge_agent("kim")["deleted"] is True
    with pytest.raises(errors.InputError):
        sync.purge_agent("  ")


def test_purge_goes_on_past_failures_and_keeps_the_record(platform: FaultPlatform) -> None:
    platform.traces = ["t1", "t2", "t3"]
    platform.agents = [{"name": "kim"}]
    platform.fault("DELETE", "/traces/t2", status=403, body={"error": "held"})
    result = sync.purge_agent("kim")
    assert result["deleted"] is False
    (failure,) = result["failures"]
    assert (failure["kind"], failure["id"]) == ("traces", "t2")
    assert "held" in failure["error"]
    assert platform.traces == ["t2"]
    assert platform.agents == [{"name": "kim"}]


def test_purge_stops_at_a_page_that_brings_nothing_new(platform: FaultPlatform) -> None:
    same = {"traces": [{"traceId": "t1"}, {}], "pages": 10**9}
    platform.fault("GET", "/traces", status=200, body=same, times=99)
    assert sync.purge_agent("kim", dry_run=True)["traces"] == 1
    assert len(platform.calls("GET", "/traces")) == 2


# -- jobs


DONE = {"status": "done", "repo": "kim/set", "commit": "c1"}


@pytest.mark.parametrize("publish", [sync.hf_publish, sync.hf_publish_run])
def test_publishing_waits_through_trouble(platform: FaultPlatform, publish: Any) -> None:
    thing = platform.add_set([b"{}"])
    platform.hf_states = [{"status": "pushing"}, {"status": "pushing"}, DONE]
    platform.fault("GET", f"/(datasets|runs)/{thing}", status=502, skip=1, times=7)
    assert publish(thing, namespace="acme", repo="set", private=True, poll=0.01) == DONE
    (start,) = platform.calls("POST", ".*/hf-publish")
    assert json.loads(start.body) == {"private": True, "namespace": "acme", "repo": "set"}


def test_publishing_is_public_for_sets_and_private_for_runs(platform: FaultPlatform) -> None:
    thing = platform.add_set([b"{}"])
    assert sync.hf_publish(thing, wait=False) == {"status": "pushing"}
    assert sync.hf_publish_run(thing, wait=False) == {"status": "pushing"}
    bodies = [json.loads(seen.body) for seen in platform.seen]
    assert bodies == [{"private": False}, {"private": True}]


@pytest.mark.parametrize(
    ("state", "kind", "message"),
    [
        ({"status": "error", "error": "no write scope"}, errors.JobFailed, "no write scope"),
        ({"status": "failed", "error": "no write scope"}, errors.JobFailed, "no write scope"),
        ({"status": "failed"}, errors.JobFailed, "no reason given"),
        ({"status": "paused"}, errors.StillRunning, "still running"),
        ("done", errors.BadReply, "unknown state"),
    ],
)
def test_publishing_that_ends_badly(
    platform: FaultPlatform, state: Any, kind: type[Exception], message: str
) -> None:
    platform.hf_states = [state]
    with pytest.raises(kind, match=message):
        sync.hf_publish(platform.add_set([b"{}"]), timeout=0.05, poll=0.01)


def test_states_of_their_own_are_on_the_way(platform: FaultPlatform) -> None:
    platform.hf_states = [{"status": "queued"}, {"status": "uploading"}, DONE]
    assert sync.hf_publish(platform.add_set([b"{}"]), poll=0.01) == DONE


def test_a_wait_has_an_end_and_looks_at_least_once(platform: FaultPlatform) -> None:
    thing = platform.add_set([b"{}"])
    platform.hf_states = [{"status": "pushing"}] * 999
    with pytest.raises(errors.StillRunning, match="still running after 0.1 s") as caught:
        sync.hf_publish(thing, timeout=0.1, poll=0.01)
    assert caught.value.retryable
    platform.hf_states = [DONE]
    assert sync.hf_publish(thing, timeout=0, poll=0) == DONE


def test_an_unsure_start_is_not_repeated(forgetful: FaultPlatform) -> None:
    thing = forgetful.add_set([b"{}"])
    forgetful.fault("POST", ".*/hf-publish", "reset")
    forgetful.hf_states = []
    with pytest.raises(errors.Unavailable, match="may have carried it out"):
        sync.hf_publish(thing)
    assert len(forgetful.calls("POST", ".*")) == 1


def test_a_start_whose_answer_was_lost_is_waited_for(forgetful: FaultPlatform) -> None:
    thing = forgetful.add_set([b"{}"])
    forgetful.hf_states = [{"status": "pushing"}, DONE]
    forgetful.fault("POST", ".*/hf-publish", "reset", after=True)
    assert sync.hf_publish(thing, poll=0.01) == DONE
    assert len(forgetful.calls("POST", ".*")) == 1


def test_import(platform: FaultPlatform) -> None:
    platform.import_states = [{}, {"status": "ready", "rows": 3}]
    row = sync.import_hf("kim/set", split="test", config="en", name="", poll=0.01)
    assert (row["status"], row["rows"]) == ("ready", 3)
    (start,) = platform.calls("POST", "/datasets/import-hf")
    assert json.loads(start.body) == {
        "repo": "kim/set",
        "split": "test",
        "purpose": "train",
        "max_rows": 100_000,
        "config": "en",
    }
    assert sync.import_hf("kim/set", wait=False)["status"] == "importing"


def test_an_import_that_fails_names_repository_split_and_dataset(platform: FaultPlatform) -> None:
    platform.import_states = [{"status": "failed", "hfImport": {"error": "cannot cast"}}]
    with pytest.raises(errors.JobFailed, match=r"kim/set, split train.*cannot cast") as caught:
        sync.import_hf("kim/set", poll=0.01)
    assert caught.value.dataset_id == "ds_1"
    for wrong in ({"purpose": "test"}, {"mode": "raw"}):
        with pytest.raises(errors.InputError):
            sync.import_hf("kim/set", **wrong)


async def looked(dataset_id: str) -> list[Any]:
    return [await _hub.hf_publish_result(dataset_id), await _hub.hf_publish_result(dataset_id)]


def test_looking_without_waiting(platform: FaultPlatform) -> None:
    import asyncio

    thing = platform.add_set([b"{}"])
    platform.hf_states = [{"status": "pushing"}, DONE]
    sync.hf_publish(thing, wait=False)
    assert asyncio.run(looked(thing)) == [None, DONE]
    importing = platform.add_set([], status="importing")
    platform.import_states = [{"status": "ready"}]
    assert asyncio.run(_hub.import_hf_result(importing))["status"] == "ready"


def test_hub_account(platform: FaultPlatform) -> None:
    assert sync.hf_status()["username"] == "kim"


def test_any_state_but_importing_and_failed_ends_an_import(platform: FaultPlatform) -> None:
    platform.import_states = [{"status": "importing"}, {"status": "archived"}]
    assert sync.import_hf("org/name", poll=0.01)["status"] == "archived"
