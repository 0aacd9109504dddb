"""The nightly flow on a real Prefect server and the embedded platform."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest

from whileai_core import sync
from whileai_core.errors import InputError
from whileai_core.ingest.unfinished import forget_unfinished
from whileai_core.ingest.workspace import Workspace

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]


def rows(numbers):
    return [
        {
            "prompt": f"Where is parcel {n * 7919} that I sent to number {n}?",
            "steps": [{"tool": "track", "arguments": {"id": n}, "result": {"status": "ok"}}],
            "final_text": f"Parcel {n} is on its way.",
            "reward": n % 2,
        }
        for n in numbers
    ]


def write(path, values):
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return str(path)


def night(*paths, **parameters):
    from flows.nightly import nightly

    return asyncio.run(nightly(paths=list(paths), agent="Support ", **parameters))


def test_a_night_pushes_a_train_set_and_a_linked_holdout_and_a_repeat_pushes_nothing(
    tmp_path, prefect_server
):
    source = write(tmp_path / "a.jsonl", [*rows(range(30)), {"nothing": "to see"}])
    first = night(source, night="2026-11-28")
    train, holdout = first["datasets"]
    assert (train["purpose"], holdout["purpose"]) == ("train", "holdout")
    assert train["name"] == "support-2026-11-28"
    assert train["rows"] + holdout["rows"] == first["account"]["rows"] == 30
    assert first["report"]["graded"] == 30
    listing = sync.datasets()["datasets"]
    parents = {entry["datasetId"]: entry["parentDatasetId"] for entry in listing}
    assert parents == {train["datasetId"]: None, holdout["datasetId"]: train["datasetId"]}
    pulled = [*sync.pull(train["datasetId"]), *sync.pull(holdout["datasetId"])]
    assert {row["prompt"] for row in pulled} == {row["prompt"] for row in rows(range(30))}

    again = night(source, night="2026-11-29")
    assert again["datasets"] == []
    assert (again["account"]["files"], again["account"]["files_known"]) == (0, 1)

    more = night(write(tmp_path / "b.jsonl", rows(range(40, 50))), night="2026-11-29")
    assert more["datasets"][0]["parentDatasetId"] == train["datasetId"]
    assert len(sync.datasets()["datasets"]) == 4

    pages = _artifacts(prefect_server)
    assert {"night-summary", "trace-report", "where-it-went"} <= {key for key, _ in pages}
    assert any("31 records = 30 rows" in data for key, data in pages if key == "where-it-went")
    pushed = {entry["datasetId"] for entry in sync.datasets()["datasets"]}
    assert _announced(prefect_server, pushed) == pushed


def test_a_bad_night_fails_pushes_nothing_and_is_seen_again(tmp_path):
    from whileai_core.errors import BadShareExceeded

    source = write(tmp_path / "a.jsonl", [*rows(range(8)), *["cut off"] * 4])
    with pytest.raises(BadShareExceeded, match="4 of 12 records"):
        night(source)
    assert sync.datasets()["datasets"] == []
    assert night(source, max_bad_share=0.5)["account"]["rows"] == 8


def test_a_push_that_is_refused_for_good_can_be_given_up(tmp_path, monkeypatch):
    source = write(tmp_path / "a.jsonl", rows(range(30)))
    with monkeypatch.context() as patch:
        patch.setattr("whileai_core.platform._payload.LONGEST_LINE_BYTES", 50)
        for _ in range(2):  # the second night tries the plan of the first
            with pytest.raises(InputError, match="support-2026-11-28.*forget-unfinished --agent"):
                night(source, night="2026-11-28")
    with Workspace("support") as workspace:
        assert forget_unfinished(workspace)["name"] == "support-2026-11-28"
    again = night(source, night="2026-11-29")
    assert (again["resumed"], again["account"]["rows"]) == ([], 30)


def test_wrong_parameters_are_refused_before_anything_runs(tmp_path, home):
    from prefect.exceptions import ParameterTypeError

    for wrong in ({"holdout": 1.5}, {"max_bad_share": "much"}, {"night": "yesterday"}):
        with pytest.raises(ParameterTypeError):
            night(str(tmp_path), **wrong)
    assert not (home / "ledger.db").exists()


def test_two_nights_of_one_agent_at_once_push_everything_once(tmp_path):
    source = write(tmp_path / "a.jsonl", rows(range(20)))

    async def both():
        from flows.nightly import nightly

        return await asyncio.gather(
            nightly(paths=[source], agent="support"), nightly(paths=[source], agent="support")
        )

    first, second = asyncio.run(both())
    assert sorted(len(result["datasets"]) for result in (first, second)) == [0, 2]
    assert len(sync.datasets()["datasets"]) == 2


def test_tasks_are_the_operations_and_take_handles(tmp_path):
    from prefect import flow

    import tasks
    from whileai_core import RowSetStore

    handle = RowSetStore(str(tmp_path / "store")).write(rows(range(12)))

    @flow
    async def ask():
        report = await tasks.trace_report(handle)
        held, rest = await tasks.split_pseudo_production(handle)
        return await tasks.format_trace_report(report), len(held), len(rest)

    text, held, rest = asyncio.run(ask())
    assert "graded:             12 (pass 6 / fail 6)" in text
    assert held + rest == 12


def test_a_step_is_tried_again_where_that_may_help_and_only_there():
    from prefect import flow, task
    from prefect.cache_policies import NO_CACHE

    from tasks._retry import when_platform_away, when_store_failed
    from whileai_core.errors import InputError, PlatformError, StoreError

    errors = {
        "busy": StoreError("busy"),
        "away": PlatformError("away", retryable=True),
        "refused": PlatformError("refused", retryable=False),
        "bad": InputError("bad"),
    }
    calls: list[str] = []

    @task(cache_policy=NO_CACHE, retries=2, retry_delay_seconds=0)
    async def step(kind):
        calls.append(kind)
        raise errors[kind]

    @flow
    async def all_of_them(condition):
        for kind, error in errors.items():
            with pytest.raises(type(error)):
                await step.with_options(retry_condition_fn=condition)(kind)

    for condition, patient in ((when_store_failed, "busy"), (when_platform_away, "away")):
        calls.clear()
        asyncio.run(all_of_them(condition))
        assert {kind: calls.count(kind) for kind in errors} == {
            kind: 3 if kind == patient else 1 for kind in errors
        }


def _artifacts(api):
    reply = httpx.post(f"{api}/artifacts/filter", json={"sort": "CREATED_DESC"}).json()
    return [(artifact["key"], artifact["data"]) for artifact in reply]


def _announced(api, wanted):
    """Which of these datasets were announced; events take a moment to arrive."""
    query = {"filter": {"event": {"prefix": ["whileai.dataset."]}}, "limit": 50}
    for _ in range(300):
        events = httpx.post(f"{api}/events/filter", json=query).json()["events"]
        found = wanted & {event["payload"]["dataset_id"] for event in events}
        if found == wanted:
            break
        time.sleep(0.2)
    return found


def test_the_gate_is_reported_by_default_and_stops_the_night_where_it_is_enforced(
    tmp_path, prefect_server
):
    from whileai_core.errors import PublishGateError

    # Repeated tasks that all pass teach nothing: the gate has a refusal for them.
    values = [{**row, "reward": 1, "trial": n} for n in range(3) for row in rows(range(12))]
    source = write(tmp_path / "a.jsonl", values)
    with pytest.raises(PublishGateError, match="no_mixed_groups"):
        night(source, gate="enforce")
    assert sync.datasets()["datasets"] == []
    result = night(source)
    assert len(result["datasets"]) == 2
    assert "no_mixed_groups" in result["gate"]["refusal"]
    assert "[" in result["gate"]["pass_rate"]
    assert "n = " in result["gate"]["pass_rate"]
    pages = [data for key, data in _artifacts(prefect_server) if key == "publish-gate"]
    (page, *_) = [page for page in pages if "no_mixed_groups" in page]
    assert "data:image/svg+xml;base64," in page
