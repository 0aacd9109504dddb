"""Mistakes a simulation is easily built with, each shown not to be made here."""

from __future__ import annotations

import re
from collections import Counter

import anyio
import anyio.lowlevel
import pytest
from shop import TOOLS, clerk, graded, results

from whileai_core import flaw_rows, simulate, simulate_from_traces
from whileai_core.simulation import words
from whileai_core.traces.faults import fault_of_row


def simulated(agent=clerk, **options):
    async def go():
        return await simulate(agent, tools=TOOLS, **options)

    return anyio.run(go)


@pytest.fixture(scope="module")
def explored():
    return simulated(budget=96).rows


@pytest.mark.parametrize("options", [{"mode": "rl"}, {"repeats": 4, "repeat_policy": "fixed"}])
def test_no_rollout_of_an_aimed_run_is_thrown_away(explored, options):
    asked = []

    def counting(message, world):
        asked.append(message)
        return clerk(message, world)

    traces = flaw_rows(graded(explored, "timeout"))
    data = simulated(counting, traces=traces, budget=96, **options)
    assert len(data.rows) == len(asked) == 96
    assert not {row["prompt"] for row in traces} & set(asked)
    assert data.search["trace_leakage"]["n_dropped"] == 0


def test_aiming_at_failures_alone_with_all_weight_fails_all_the_more(explored):
    failures = [row for row in graded(explored, "timeout") if row["reward"] == 0]
    data = simulated(traces=failures, steering_weight=1.0, budget=96)
    rows = graded(data.rows, "timeout")
    assert sum(row["reward"] == 0 for row in rows) >= 0.6 * 96


def test_faults_the_agent_handles_do_not_take_the_run_over(explored):
    flaws = flaw_rows(graded(explored, "timeout"))
    handled = [row for row in flaws if row["reward"] == 1]
    assert len(handled) > len(flaws) / 2
    data = simulated(traces=flaws, budget=96)
    origins = Counter(row.get("steering", {}).get("origin") for row in data)
    assert origins["contrast"] <= 0.12 * 96 < 0.5 * 96 <= origins["targeted"]


def test_a_call_that_timed_out_works_when_it_is_made_again():
    def insisting(message, world):
        world.call("lookup_order", {"order_id": "ORD-1"})
        world.call("lookup_order", {"order_id": "ORD-1"})
        return "done"

    axes = {"tool": ["lookup_order"], "tool_condition": ["timeout"]}
    axes["world_state"] = ["entity exists"]
    rows = simulated(insisting, dimensions=axes, budget=20, fault_rate=1).rows
    grid = [row for row in rows if row["arm"] == "structured"]
    assert grid
    for row in grid:
        assert [answer["status"] for answer in results(row)] == ["timeout", "ok"]


def test_labels_have_effect_and_plans_that_were_not_served_are_no_faults():
    rows = simulated(lambda message: "I have no tools.", budget=96).rows
    assert not any(fault_of_row(row) for row in rows)
    assert flaw_rows(rows) == []


def test_ids_that_asks_name_exist_unless_they_are_said_to_be_missing(explored):
    for row in explored:
        answers = [answer for answer in results(row) if answer.get("status") == "not_found"]
        named = re.search(r"ORD-\d+", row["prompt"])
        if named and answers:
            assert row["world_state"] == "entity missing"


def test_a_world_does_not_contradict_itself():
    def thorough(message, world):
        reference = {"order_id": "ORD-1"}
        for name in ("lookup_order", "cancel_order", "lookup_order", "cancel_order"):
            world.call(name, reference)
        made = world.call("create_ticket", {**reference, "subject": "x"})
        world.call("lookup_order", {"order_id": made.get("id", "")})
        return "done"

    rows = simulated(thorough, budget=60, fault_rate=0).rows
    seen = set()
    for row in rows:
        read, first, after, second, made, found = results(row)
        state = row.get("world_state")
        seen.add(state)
        assert (made["status"], found["status"]) == ("created", "ok")
        if state == "entity already acted on":
            assert (read["status"], first["status"]) == ("ok", "already_done")
        if state in ("entity exists", "partially completed"):
            assert after["data"]["status"] == "cancelled"
            assert second["status"] == "already_done"
    assert len(seen) >= 5


def test_pass_at_k_is_there_by_default():
    def wavering(message, world):
        turns[message] = turns.get(message, 0) + 1
        return "yes" if turns[message] % 2 else "no"

    turns = {}
    data = simulated(wavering, mode="rl", budget=96, grader=lambda row: row["final_text"] == "yes")
    rates = data.pass_at()
    assert rates["k"] == 8
    assert rates["pass_pow_k"] is not None


def test_asks_off_the_topic_stay_off_it_and_a_hard_set_is_hard():
    rows = simulated(budget=60, hard_share=1.0).rows
    assert not any(row["tier"] == "ordinary" for row in rows)
    about_records = {text for pool in words.WORLD_STATES.values() for text in pool}
    for row in rows:
        if row["scenario_dimensions"]["tool"] == "unrelated" and row["arm"] == "structured":
            assert not any(text in row["prompt"] for text in about_records)


def test_async_agents_and_judges_share_one_loop():
    loops = set()

    async def agent(message):
        import asyncio

        loops.add(id(asyncio.get_running_loop()))
        return "ok"

    async def judge(row):
        await anyio.lowlevel.checkpoint()
        return 1

    rows = simulated(agent, budget=20, grader=judge).rows
    assert len(loops) == 1
    assert {row["reward"] for row in rows} == {1}


def test_traces_without_an_agent_are_an_error_before_any_work_and_seeded_works_offline(explored):
    async def go(agent):
        return await simulate_from_traces(explored, agent, budget=8)

    with pytest.raises(ValueError, match="agent='seeded'"):
        anyio.run(go, None)
    assert len(anyio.run(go, "seeded").rows) == 8
