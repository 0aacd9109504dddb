"""What an aimed run has to reach for every kind of flaw; benchmarks/study_climb.py has it all."""

from __future__ import annotations

import anyio
import pytest
from shop import (
    FLAWS,
    TOOLS,
    clerk,
    failing_share,
    graded,
    is_clean,
    patient_clerk,
    results,
    without_times,
)

from whileai_core import drop_leaky_rows, flaw_rows, simulate
from whileai_core.quality import task_rate_interval

BUDGET = 96
HIGHEST_BAR = 0.55


def simulated(agent=clerk, **options):
    async def go():
        return await simulate(agent, tools=TOOLS, **{"budget": BUDGET, **options})

    return anyio.run(go)


@pytest.fixture(scope="module")
def cold():
    return simulated().rows


@pytest.mark.parametrize("flaw", FLAWS)
def test_an_aimed_run_fails_where_the_cold_one_did(flaw, cold):
    before = graded(cold, flaw)
    traces = flaw_rows(before)
    data = simulated(traces=traces)
    rows = graded(data.rows, flaw)
    assert len(rows) == BUDGET
    share = failing_share(rows)
    assert share >= max(0.4, min(4 * failing_share(before), HIGHEST_BAR))
    assert 1 - share >= 0.2
    assert flaw == "entity exists" or sum(map(is_clean, rows)) >= 0.2 * BUDGET
    assert drop_leaky_rows(rows, traces)[1]["n_dropped"] == 0
    for entry in data.aim(rows):
        if entry["signature"].startswith("label 0"):
            assert entry["landed"] == entry["planned"] >= 1
            assert entry["failed"] >= 1
            assert entry["interval"][1] > 0.5


def test_a_mended_agent_fails_nowhere_it_is_aimed_at(cold):
    data = simulated(patient_clerk, traces=flaw_rows(graded(cold, "timeout")))
    for entry in data.aim(graded(data.rows, "timeout")):
        assert (entry["failed"], entry["interval"][0]) == (0, 0)
        assert entry["n"] == entry["landed"]


def test_an_agent_that_tries_again_is_told_from_one_that_does_not():
    def interval(agent):
        rows = graded(simulated(agent).rows, "timeout")
        return task_rate_interval([row["reward"] for row in rows], [1] * len(rows))

    assert interval(clerk).high < interval(patient_clerk).low


def test_labels_are_true_of_what_the_world_did(cold):
    shown = {
        "timeout": lambda answer: answer.get("status") == "timeout",
        "malformed": lambda answer: answer.get("data") == "<<garbled resp0nse",
        "stale": lambda answer: answer.get("stale") is True,
        "permission_denied": lambda answer: answer.get("status") == "permission_denied",
    }
    states = {
        "entity exists": {"ok", "created"},
        "entity missing": {"not_found", "created"},
        "entity already acted on": {"ok", "already_done", "created"},
        "duplicate entity": {"ok", "rejected", "created"},
        "partially completed": {"ok", "created"},
    }
    aimed = simulated(traces=flaw_rows(graded(cold, "two at once"))).rows
    for row in [*cold, *aimed]:
        answers = results(row)
        for entry in row.get("faults", {}).values():
            assert any(map(shown[entry["mode"]], answers))
        if "faults" not in row:
            assert not any(check(answer) for check in shown.values() for answer in answers)
        planned = row["scenario_dimensions"]["tool_condition"] != "success"
        assert planned == bool(row.get("faults") or row.get("faults_scheduled"))
        for answer in answers:
            if "world_state" in row and not any(check(answer) for check in shown.values()):
                assert answer["status"] in states[row["world_state"]]


def test_a_thousand_situations_repeat_no_prompt():
    data = simulated(lambda message: "ok", budget=1000)
    assert len({row["prompt"] for row in data}) == len(data.rows) == 1000


def test_aimed_rows_are_the_same_at_any_concurrency(cold):
    traces = flaw_rows(graded(cold, "a tool"))
    one, many = (simulated(traces=traces, concurrency=n) for n in (1, 32))
    assert without_times(one.rows) == without_times(many.rows)
