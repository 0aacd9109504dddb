"""The hill climb on a real Prefect server and the embedded platform, offline."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from whileai_core import sync
from whileai_core.climb.journal import Journal
from whileai_core.errors import InputError

pytestmark = pytest.mark.usefixtures("prefect_server")

DEMO = "whileai_core.simulation.demo"
PLAN = {
    "name": "Shop ",
    "agent": f"{DEMO}:flawed_agent",
    "tools": f"{DEMO}:TOOLS",
    "improver": f"{DEMO}:improver",
    "budget": 64,
    "holdout_tasks": 12,
}


def climb(**changes):
    from flows.hill_climb import hill_climb

    return asyncio.run(hill_climb(**{**PLAN, **changes}))


def untimed(value):
    """A result without what differs from run to run: dataset ids."""
    if isinstance(value, dict):
        hidden = {"datasetId", "parentDatasetId"}
        return {key: untimed(item) for key, item in value.items() if key not in hidden}
    return [untimed(item) for item in value] if isinstance(value, list) else value


def test_it_finds_a_planted_flaw_aims_at_it_and_sees_it_mended(prefect_server):
    result = climb()
    found, aimed, mended = result["rounds"]
    assert result["stopped"] == "no_flaws"
    assert 0 < found["failed"] < aimed["failed"]
    assert all(entry["landed"] and entry["failed"] for entry in aimed["aim"])
    assert mended["agent"]["agent"] == f"{DEMO}:careful_agent"
    assert mended["agent_changed"] and not aimed["agent_changed"]
    assert {entry["failed"] for entry in mended["aim"]} == {0}
    assert mended["comparison"]["ci95"][0] > 0
    assert mended["comparison"]["n_tasks"] == found["held_out"]["tasks"]

    first, second = found["dataset"], aimed["dataset"]
    assert second["parentDatasetId"] == first["datasetId"]
    assert mended["dataset"]["datasetId"] is None and "no_mixed" in mended["dataset"]["refusal"]
    trained = [*sync.pull(first["datasetId"]), *sync.pull(second["datasetId"])]
    assert {row["reward"] for row in trained} == {0, 1}

    pages = httpx.post(
        f"{prefect_server}/artifacts/filter",
        json={"artifacts": {"key": {"any_": ["climb", "climb-round-2"]}}},
    ).json()
    texts = {page["key"]: page["data"] for page in pages}
    assert "data:image/svg+xml" in texts["climb"] and first["datasetId"] in texts["climb"]
    assert "| aimed at |" in texts["climb-round-2"]


def test_no_held_out_task_is_trained_on(home):
    climb(rounds=2)
    [folder] = (home / "climbs").iterdir()
    held = rows_left(folder / "round-1" / "held.json")
    prompts = {row["prompt"] for row in held}
    tasks = {row["scenario_id"] for row in held}
    for number in (1, 2):
        rows = rows_left(folder / f"round-{number}" / "scored.json")
        assert not prompts & {row["prompt"] for row in rows}
        assert not tasks & {row["scenario_id"] for row in rows}


def rows_left(path: Path):
    from whileai_core import RowSet

    return list(RowSet.from_dict(json.loads(path.read_text())["rows"]))


class Killed(BaseException):
    """As if the process had gone."""


@pytest.mark.parametrize("rounds", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_climb_killed_at_every_step_ends_as_an_undisturbed_one(rounds, monkeypatch, tmp_path):
    small = {"rounds": rounds, "budget": 32, "holdout_tasks": 6}
    undisturbed = climb(**small)
    pushed = len(sync.datasets()["datasets"])
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path / "disturbed"))
    write = Journal.write
    steps: list[str] = []

    def dying(self, step, value):
        # Now before, now after the step is remembered.
        if len(steps) % 2:
            write(self, step, value)
        steps.append(step)
        raise Killed

    monkeypatch.setattr(Journal, "write", dying)
    result = None
    while result is None:
        assert len(steps) < 60
        try:
            result = climb(**small)
        except Killed:
            continue
    assert untimed(result) == untimed(undisturbed)
    assert len(sync.datasets()["datasets"]) == pushed
    assert steps.count("round-1/scored") <= 2


def test_a_finished_round_is_not_done_again(home):
    first = climb(rounds=1)
    [folder] = (home / "climbs").iterdir()
    times = {path: path.stat().st_mtime_ns for path in (folder / "round-1").iterdir()}
    more = climb(rounds=2)
    assert more["rounds"][0] == first["rounds"][0] and len(more["rounds"]) == 2
    assert times.items() <= {
        p: p.stat().st_mtime_ns for p in (folder / "round-1").iterdir()
    }.items() | {(folder / "round-1" / "next.json", 0)}


def test_the_budget_for_calls_ends_the_climb_and_says_so():
    result = climb(max_calls=40)
    assert result["stopped"] == "spend_exhausted"
    assert result["rounds"][0]["rows"] <= 40


def test_nothing_to_go_by_is_said_before_any_work(home):
    with pytest.raises(InputError, match="tools"):
        climb(tools=None)
    assert not (home / "climbs").exists() or not list((home / "climbs").rglob("*.json"))
