"""The hill climb on a real Prefect server and the embedded platform, offline."""

from __future__ import annotations

import asyncio
import importlib
import json
import shutil
import sys
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
    """A result without what differs from run to run."""
    if isinstance(value, dict):
        hidden = {"datasetId", "parentDatasetId", "folder", "known"}
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
        if step == "spend" and steps[-1:] == ["spend"]:
            return write(self, step, value)
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


def test_a_climb_that_ran_out_of_calls_goes_on_under_a_higher_limit(home):
    undisturbed = untimed(climb(budget=32, holdout_tasks=6, rounds=1))
    [first] = (home / "climbs").iterdir()
    first.rename(home / "undisturbed")
    short = climb(budget=32, holdout_tasks=6, rounds=1, max_calls=20)
    assert (short["stopped"], short["rounds"]) == ("spend_exhausted", [])
    assert "max_calls" in short["reason"]
    assert climb(budget=32, holdout_tasks=6, rounds=1, max_calls=50)["stopped"] == "spend_exhausted"
    enough = climb(budget=32, holdout_tasks=6, rounds=1, max_calls=400)
    assert untimed(enough["rounds"]) == undisturbed["rounds"]


SHOP = """
from whileai_core.simulation.demo import careful_agent
from whileai_core.simulation.agents import AgentSpec

async def agent(message, world):
    {agent}

def judge(row):
    {judge}

def improver(agent, failures):
    raise ValueError("gpu on fire")
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """Write the module `shop_of_this_test`, as a person who edits it would."""
    name = f"shop_{tmp_path.name.replace('-', '_')}"
    monkeypatch.setenv("WHILEAI_ALLOWED_IMPORTS", name)
    monkeypatch.syspath_prepend(str(tmp_path))

    def edit(agent="return await careful_agent(message, world)", judge="return 0"):
        (tmp_path / f"{name}.py").write_text(SHOP.format(agent=agent, judge=judge))
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        small = {"rounds": 2, "budget": 16, "holdout_tasks": 6, "improver": None}
        return {**small, "agent": f"{name}:agent", "judge": f"{name}:judge", "module": name}

    return edit


def test_what_breaks_off_is_done_again_and_says_why(shop):
    changes = shop(judge="raise RuntimeError('boom')")
    module = changes.pop("module")
    broken = climb(**changes)
    assert (broken["stopped"], broken["rounds"]) == ("judge_failed", [])
    assert "boom" in broken["reason"]
    changes = shop()
    del changes["module"]
    ended = climb(**{**changes, "improver": f"{module}:improver"})
    assert ended["stopped"] == "improver_failed" and "gpu on fire" in ended["reason"]
    assert len(ended["rounds"]) == 1


def test_an_edited_agent_is_another_climb_and_an_old_one_says_so(shop):
    changes = shop()
    del changes["module"]
    first = climb(**changes)
    again = climb(**changes)
    assert (first["known"], again["known"]) == (0, 2)
    edited = shop(agent="return 'no'")
    del edited["module"]
    other = climb(**edited)
    assert other["known"] == 0 and other["folder"] != first["folder"]


def test_nothing_to_go_by_is_said_before_any_work(home):
    with pytest.raises(InputError, match="tools"):
        climb(tools=None)
    assert not (home / "climbs").exists() or not list((home / "climbs").rglob("*.json"))
