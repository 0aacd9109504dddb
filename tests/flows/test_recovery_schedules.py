"""Schedules that go wrong: runs that overlap, come late, come twice, or find nothing."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, date, datetime, timedelta

import httpx
import pytest

from whileai_core import sync

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]


def source(folder, numbers):
    rows = [{"prompt": f"Ask {n * 7919} of {n}", "final_text": f"Answer {n}"} for n in numbers]
    path = folder / f"{numbers[0]}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def night(*paths, **parameters):
    from flows.nightly import nightly

    return asyncio.run(nightly(paths=list(paths), agent="support", **parameters))


def ask(url, body):
    return httpx.post(url, json=body, timeout=60).json()


@pytest.fixture
def deployment(prefect_server):
    """A deployment with the limits that the night of an agent has; nobody picks up its runs."""
    from deployments.register import ONE_AT_A_TIME

    flow = ask(f"{prefect_server}/flows/", {"name": "nightly"})
    limit = dict(ONE_AT_A_TIME)
    body = {
        "name": "schedules",
        "flow_id": flow["id"],
        "enforce_parameter_schema": False,
        "concurrency_limit": limit.pop("limit"),
        "concurrency_options": limit,
    }
    made = ask(f"{prefect_server}/deployments/", body)["id"]
    yield made
    httpx.delete(f"{prefect_server}/deployments/{made}", timeout=60)


def test_a_night_that_still_runs_is_not_joined_by_the_next(prefect_server, deployment):
    def set_state(run, kind):
        path = f"{prefect_server}/flow_runs/{run}/set_state"
        return ask(path, {"state": {"type": kind}})["state"]["type"]

    path = f"{prefect_server}/deployments/{deployment}/create_flow_run"
    first, second, third = (ask(path, {})["id"] for _ in range(3))
    assert [set_state(first, kind) for kind in ("PENDING", "RUNNING")] == ["PENDING", "RUNNING"]
    assert set_state(second, "PENDING") == "CANCELLED"
    assert set_state(first, "COMPLETED") == "COMPLETED"
    assert set_state(third, "PENDING") == "PENDING"


@pytest.mark.slow
def test_nights_that_missed_their_time_come_to_one(tmp_path, home):
    """A worker that comes back takes up all late runs; the first of them takes everything."""
    files = [source(tmp_path, range(n, n + 15)) for n in (0, 100, 200)]
    results = [night(*files) for _ in range(3)]
    assert [len(result["datasets"]) for result in results] == [2, 0, 0]
    assert results[0]["account"]["rows"] == 45
    assert results[0]["night"] == datetime.now(UTC).date().isoformat()


def runs_due(zone, day):
    """When the server would schedule runs on that day, whenever it looks."""
    from prefect.server.schemas.schedules import CronSchedule

    schedule = CronSchedule(cron="30 2 * * *", timezone=zone)
    looks = [datetime(2026, 1, 1, tzinfo=UTC).replace(month=day.month, day=day.day - 1)]
    looks += [looks[0] + timedelta(minutes=20 * step) for step in range(1, 100)]
    due = {when for look in looks for when in asyncio.run(schedule.get_dates(n=1, start=look))}
    return sorted(when.astimezone(UTC) for when in due if when.date() == day)


@pytest.mark.parametrize("day", [date(2026, 3, 29), date(2026, 10, 25)])
def test_a_night_on_which_the_clocks_change_is_run_and_counted_once(day, tmp_path):
    due = runs_due("Europe/Paris", day)
    assert 1 <= len(due) <= 2  # 02:30 comes twice in autumn and not at all in spring
    assert len(runs_due("UTC", day)) == 1
    file = source(tmp_path, range(20))
    results = [night(file, night=day) for _ in due] + [night(file, night=day)]
    assert [len(result["datasets"]) for result in results] == [2] + [0] * len(due)
    assert len(sync.datasets()["datasets"]) == 2


def test_a_night_without_traces_is_done_and_leaves_no_dataset(tmp_path):
    (tmp_path / "in").mkdir()
    empty = night(str(tmp_path / "in"))
    assert (empty["account"]["records"], empty["datasets"]) == (0, [])
    assert sync.datasets()["datasets"] == []

    file = source(tmp_path / "in", range(20))
    first = night(str(tmp_path / "in"), night="2026-11-01")
    nothing_new = night(str(tmp_path / "in"), night="2026-11-02")
    assert (nothing_new["account"]["files_known"], nothing_new["datasets"]) == (1, [])

    more = night(file, source(tmp_path / "in", range(50, 70)), night="2026-11-03")
    assert more["datasets"][0]["parentDatasetId"] == first["datasets"][0]["datasetId"]


def test_a_night_whose_folder_is_gone_fails_and_says_so(tmp_path):
    from whileai_core.errors import SourceNotFound

    with pytest.raises(SourceNotFound, match="nowhere"):
        night(str(tmp_path / "nowhere"))
