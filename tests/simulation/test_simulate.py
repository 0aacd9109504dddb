"""`simulate` as its callers see it."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from shop import TOOLS, clerk, graded, results, tool, without_times

from whileai_core import simulate, simulate_from_traces, sync
from whileai_core.rows import schema_findings
from whileai_core.simulation.agents import AgentSpec, source_version
from whileai_core.simulation.data import SimulationData
from whileai_core.traces.faults import planned_fault


def run(agent=clerk, *, tools=TOOLS, **options):
    async def go():
        return await simulate(agent, tools=tools, **options)

    return anyio.run(go)


@pytest.fixture(scope="module")
def explored():
    return run(budget=96)


# --- arguments


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "zzz"}, "explore, sft, rl"),
        ({"dimensions": {"bogus": ["x"]}}, "tool, rule, stance, world_state"),
        ({"dimensions": {}}, "tool, rule, stance, world_state"),
        ({"dimensions": {"stance": []}}, "at least one value"),
        ({"dimensions": {"stance": ["furious"]}}, "hurried"),
        ({"dimensions": {"tool_condition": ["flood"]}}, "timeout"),
        ({"strategy": "trace"}, "traces="),
        ({"strategy": "targeted"}, "traces="),
        ({"strategy": "guess"}, "auto, trace"),
        ({"steering_weight": 0.5}, "traces="),
        ({"steering_weight": 1.5, "traces": []}, "between 0 and 1"),
        ({"hard_share": -0.1}, "between 0 and 1"),
        ({"fault_rate": 2}, "between 0 and 1"),
        ({"repeat_policy": "often"}, "none, adaptive, successive, fixed"),
        ({"budget": 0}, "budget=0"),
        ({"repeats": 0}, "repeats=0"),
        ({"concurrency": 0}, "concurrency=0"),
        ({"time_budget": 0}, "time_budget=0"),
        ({"tasks": [{"final_text": "x", "steps": []}]}, "no prompt"),
        ({"tasks": [{"prompt": "x", "steps": []}], "seeds": ["y"]}, "pass one"),
        ({"seeds": [3]}, "texts"),
    ],
)
def test_wrong_arguments_are_said_before_any_work(options, says):
    def never(message):
        raise AssertionError("the agent was asked")

    with pytest.raises(ValueError, match=says):
        run(never, **options)


@pytest.mark.parametrize("name", ["grader", "execute"])
def test_what_must_be_callable_is_checked(name):
    with pytest.raises(TypeError, match=f"{name}="):
        run(**{name: 3})
    with pytest.raises(TypeError, match="grader="):
        run(grader="no judge")


def test_misspelled_keywords_and_no_agent_are_errors():
    with pytest.raises(TypeError, match="bugdet"):
        run(bugdet=3)
    with pytest.raises(ValueError, match="seeded"):
        run(None)
    with pytest.raises(ValueError, match="seeded"):
        run(None, tools=None)


# --- rows


def test_rows_are_of_the_schema_and_as_many_as_the_budget(explored):
    assert len(explored.rows) == len(explored.rows()) == 96
    assert explored.stopped_because == "budget"
    for row in explored:
        assert schema_findings(row) == []
        assert row["messages"][0] == {"role": "user", "content": row["prompt"]}
        assert row["messages"][-1] == {"role": "assistant", "content": row["final_text"]}
        assert row["policy_version"].startswith("clerk@")
        assert row["writer_model"] == "template"
        assert row["tools_used"] == list(dict.fromkeys(step["tool"] for step in row["steps"]))
        assert None not in row.values()
        assert "reward" not in row
    assert len({row["prompt"] for row in explored}) == 96
    assert {row["tier"] for row in explored} == {"ordinary", "ambiguous", "boundary", "adversarial"}
    assert {row["arm"] for row in explored} == {"structured", "open_ended"}


def test_a_report_tells_what_the_run_covered(explored):
    report = explored.report()
    assert report["rows"] == report["unique_prompts"] == 96
    assert report["pairwise"]["fraction"] > 0.9
    assert report["knobs"]["fault_rate"] == 0.5
    assert explored.search["rollouts"] == {
        "planned": 96,
        "landed": 96,
        "resumed": 0,
        "errors": 0,
        "lost_by": {},
    }


def test_a_run_can_be_saved_graded_and_rated(explored, tmp_path):
    path = explored.save(tmp_path / "deep" / "rows.jsonl")
    assert path.read_bytes().count(b"\n") == 96

    async def grade():
        return await explored.grade(lambda row: "timeout" not in row["final_text"])

    scored = anyio.run(grade)
    assert {row["reward"] for row in scored} == {0, 1}
    assert not any("reward" in row for row in explored)


def test_what_the_agent_must_not_see_is_on_no_row():
    def agent(message):
        steps = [{"text": "hm", "hidden_state": 1, "meta": {"rubric": "x", "kept": 1, "_own": 2}}]
        return {"final_text": "ok", "steps": steps, "privileged": "secret"}

    (row,) = run(agent, budget=1).rows
    assert row["steps"] == [{"text": "hm", "meta": {"kept": 1}}]
    assert "privileged" not in row


def test_arguments_of_tools_stay_as_they_were():
    booking = tool("get_booking", "reference")

    def agent(message, world):
        world.call("get_booking", {"reference": "BK-1", "note": None})
        return "ok"

    (row,) = run(agent, tools=[booking], budget=1).rows
    assert row["steps"][0]["arguments"] == {"reference": "BK-1", "note": None}


def test_an_agent_with_a_world_of_its_own_met_no_fault_of_ours():
    rows = run(lambda message: "All fine.", budget=96).rows
    assert not any("faults" in row or "world_state" in row for row in rows)
    assert any("faults_scheduled" in row for row in rows)
    assert not any(planned_fault(row) for row in rows)


def test_the_prompts_of_modes_have_their_repeats():
    rows = run(mode="sft", budget=48, repeat_policy="fixed").rows
    assert set(Counter(row["prompt"] for row in rows).values()) == {4}
    situations = {row["scenario_id"]: set() for row in rows if row["arm"] == "structured"}
    for row in rows:
        situations.get(row["scenario_id"], set()).add(row["prompt"])
    assert set(map(len, situations.values())) == {3}


def test_a_group_the_budget_cut_says_so():
    rows = run(mode="rl", budget=20, repeat_policy="fixed").rows
    sizes = Counter(row["prompt"] for row in rows)
    assert sorted(sizes.values()) == [4, 8, 8]
    assert [row.get("group_cut", False) for row in rows] == [False] * 16 + [True] * 4


def test_no_mixed_group_is_short_of_repeats_while_there_is_budget():
    def wavering(message, world):
        turns[message] = turns.get(message, 0) + 1
        return "yes." if (turns[message] + len(message)) % 3 else "no, " * 30

    for budget in (50, 64, 97):
        turns = {}
        data = run(wavering, mode="rl", budget=budget, concurrency=1)
        assert len(data.rows) == budget
        replies = {}
        for row in data.rows:
            replies.setdefault(row["prompt"], []).append(row["behavior_signature"])
        short = [k for k in replies.values() if len(set(k)) > 1 and len(k) < 8]
        assert len(short) <= 1


def test_a_grader_decides_on_repeats_and_leaves_its_labels():
    data = run(
        mode="rl", budget=40, repeats=4, grader=lambda row: "timeout" not in row["final_text"]
    )
    assert {row["judge_status"] for row in data} == {"ok"}
    assert len({row["reward"] for row in data}) == 2


# --- determinism, resume


@pytest.mark.parametrize("options", [{}, {"mode": "rl"}, {"mode": "sft"}])
def test_the_same_arguments_give_the_same_rows_at_any_concurrency(options):
    one, many = (run(budget=80, concurrency=n, **options) for n in (1, 32))
    assert without_times(one.rows) == without_times(many.rows)
    assert without_times(run(budget=80, seed=1, **options).rows) != without_times(one.rows)


@pytest.mark.parametrize("options", [{}, {"mode": "rl"}])
def test_a_run_that_was_interrupted_ends_with_the_same_rows(options, tmp_path):
    class Interrupted(Exception):
        pass

    def stop(progress):
        if progress["rows"] == 41:
            raise Interrupted

    asked = []

    def counted(message, world):
        asked.append(message)
        return clerk(message, world)

    path = tmp_path / "run.jsonl"
    with pytest.raises(Interrupted):
        run(counted, budget=80, checkpoint=path, on_progress=stop, **options)
    asked.clear()
    resumed = run(counted, budget=80, checkpoint=path, **options)
    assert resumed.search["rollouts"]["resumed"] >= 41
    assert len(asked) == 80 - resumed.search["rollouts"]["resumed"]
    assert without_times(resumed.rows) == without_times(run(counted, budget=80, **options).rows)
    again = run(counted, budget=80, checkpoint=path, **options)
    assert again.rows == resumed.rows
    with pytest.raises(ValueError, match="another seed"):
        run(counted, budget=80, checkpoint=path, seed=5, **options)


def test_another_process_gives_the_same_rows():
    script = """
import asyncio, hashlib, sys
sys.path.insert(0, sys.argv[1])
from shop import TOOLS, clerk, graded, without_times
from whileai_core import jsonio, simulate

async def go():
    cold = await simulate(clerk, tools=TOOLS, budget=60)
    traces = [row for row in graded(cold, "two at once") if row["reward"] == 0]
    aimed = await simulate(clerk, tools=TOOLS, budget=60, traces=traces)
    rows = without_times([*cold, *aimed])
    print(hashlib.sha256(jsonio.canonical(rows)).hexdigest())

asyncio.run(go())
"""
    here = str(Path(__file__).parent)
    digests = {
        subprocess.run(
            [sys.executable, "-c", script, here],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_an_edited_agent_does_not_go_on_from_rows_of_the_unedited_one(tmp_path, monkeypatch):
    source = tmp_path / "edited_agent.py"
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # edits within a second look the same
    path = tmp_path / "run.jsonl"

    def with_reply(text, **options):
        source.write_text(f"def agent(message):\n    return {text!r}\n")
        monkeypatch.delitem(sys.modules, "edited_agent", raising=False)
        importlib.invalidate_caches()
        agent = importlib.import_module("edited_agent").agent
        data = run(agent, budget=8, checkpoint=path, **options)
        return source_version(agent), {row["lineage"]["agent_version"] for row in data.rows}

    first, on_rows = with_reply("yes")
    assert on_rows == {first}
    with pytest.raises(ValueError, match=r"another agent source; delete that file") as refused:
        with_reply("no, the other way")
    assert str(path) in str(refused.value)
    path.unlink()
    second, on_rows = with_reply("no, the other way")
    assert on_rows == {second} != {first}
    # Who names the version answers for it.
    assert with_reply("a third way", model_version="agent")[1] == {second}


def test_a_run_that_goes_on_says_from_how_many_rows(tmp_path, caplog):
    path = tmp_path / "run.jsonl"
    run(budget=8, checkpoint=path)
    assert not caplog.messages
    run(budget=16, checkpoint=path)
    assert caplog.messages == ["going on from 8 rows of an earlier run"]


def test_a_checkpoint_may_grow(tmp_path):
    path = tmp_path / "run.jsonl"
    small = run(budget=20, checkpoint=path)
    large = run(budget=40, checkpoint=path)
    assert large.rows[:20] == small.rows
    assert without_times(large.rows) == without_times(run(budget=40).rows)


# --- ends


def test_an_agent_that_never_answers_ends_the_run_with_its_first_error():
    def broken(message):
        raise RuntimeError("no model here")

    data = run(broken, budget=8)
    assert (len(data.rows), data.stopped_because) == (0, "agent_failed")
    assert "no model here" in data.warnings[0]
    assert {"rollouts_lost", "agent_errors"} <= set(data.degraded)
    assert data.search["rollouts"]["lost_by"] == {"agent_error": 8}


def test_an_agent_that_now_and_then_fails_still_fills_the_budget():
    def shaky(message, world):
        if len(message) % 3 == 0:
            raise ValueError("no")
        return clerk(message, world)

    data = run(shaky, budget=60)
    assert (len(data.rows), data.stopped_because) == (60, "budget")
    assert "rollouts_lost" in data.degraded


def test_time_and_situations_end_a_run_with_what_it_has():
    async def slow(message):
        await anyio.sleep(0 if len(started) < 8 else 30)
        started.append(message)
        return "ok"

    started = []
    data = run(slow, budget=50, time_budget=2, concurrency=4)
    assert data.stopped_because == "time_budget"
    assert 8 <= len(data.rows) < 50
    few = run(situations=5, budget=50)
    assert (len(few.rows), few.stopped_because) == (5, "situations_exhausted")


def test_a_failing_checkpoint_or_callback_is_told_as_it_is():
    def fail(progress):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        run(budget=8, on_progress=fail)


# --- what can be passed


def test_async_agents_may_call_the_world_with_and_without_await():
    async def agent(message, world):
        first = world.call("lookup_order", {"order_id": "ORD-1"})
        second = await world.call("lookup_order", {"order_id": "ORD-1"})
        return f"{first['status']} {second['status']}"

    rows = run(agent, budget=20).rows
    assert len(rows) == 20
    assert all(len(row["steps"]) == 2 for row in rows)


def test_plain_agents_run_in_threads_at_once():
    barrier = threading.Barrier(4, timeout=60)

    def agent(message):
        barrier.wait()
        return "ok"

    assert len(run(agent, budget=8, concurrency=4).rows) == 8


@pytest.mark.parametrize("asynchronous", [True, False])
def test_the_callers_own_world_answers(asynchronous):
    def execute(name, arguments):
        return {"status": "ok", "own": name}

    async def execute_async(name, arguments):
        await anyio.lowlevel.checkpoint()
        return execute(name, arguments)

    rows = run(budget=20, execute=execute_async if asynchronous else execute).rows
    answers = [answer for row in rows for answer in results(row) if "faults" not in row]
    assert answers
    assert all(answer["own"] for answer in answers)


def test_agents_by_name_and_by_spec():
    spec = AgentSpec("whileai_core.simulation.demo:careful_agent", "Never refund twice.")
    data = run(spec, budget=4)
    assert data.rows[0]["lineage"]["system_prompt_head"] == "Never refund twice."
    assert len(run("seeded", budget=4).rows) == 4


def test_seeds_come_first_word_by_word_and_what_does_not_fit_is_said():
    seeds = ["Where is ORD-7777?", "And ORD-8888?", "And ORD-9999?"]
    data = run(seeds=seeds, budget=5, repeats=2, repeat_policy="fixed")
    assert [row["prompt"] for row in data.rows[:4]] == [seeds[0]] * 2 + [seeds[1]] * 2
    assert {row["writer_model"] for row in data.rows[:4]} == {"seed"}
    assert any("ORD-9999" in text for text in data.warnings)


def test_tasks_are_the_same_situations_again():
    before = run(mode="rl", budget=48)
    after = run(tasks=before.rows, mode="rl", budget=500)
    assert after.stopped_because == "tasks_done"
    assert {row["prompt"] for row in after} == {row["prompt"] for row in before}
    assert set(Counter(row["prompt"] for row in after).values()) == {8}
    first = {row["prompt"]: row for row in before.rows}
    for row in after:
        old = first[row["prompt"]]
        for key in ("scenario_id", "scenario_dimensions", "steps", "tier", "faults"):
            assert row.get(key) == old.get(key)
        assert row["lineage"]["replayed"] is True


def test_dimensions_narrow_the_grid():
    data = run(
        dimensions={"stance": ["hurried"], "tool_condition": ["success", "timeout"]}, budget=40
    )
    grid = [row["scenario_dimensions"] for row in data if row["arm"] == "structured"]
    assert {one["stance"] for one in grid} == {"hurried"}
    assert {one["tool_condition"] for one in grid} <= {"success", "timeout"}


def test_an_agent_without_tools_is_asked_about_its_rules():
    data = run(lambda message: "ok", tools=None, system_prompt="Never refund twice.", budget=40)
    assert len(data.rows) == 40
    assert any("Never refund twice" in row["prompt"] for row in data)


# --- from traces


def from_traces(traces, agent=clerk, **options):
    async def go():
        return await simulate_from_traces(traces, agent, **options)

    return anyio.run(go)


def test_tools_are_read_from_the_traces_when_none_are_given(explored):
    data = from_traces(explored.rows, budget=16)
    assert isinstance(data, SimulationData)
    assert set(data.dimensions["tool"]) >= {"lookup_order", "cancel_order", "create_ticket"}
    assert data.knobs["mode"] == "rl"


def test_traces_alone_run_no_agent(explored, tmp_path):
    with pytest.raises(ValueError, match="seeded"):
        from_traces(explored.rows, None)
    with pytest.raises(ValueError, match="no rows"):
        from_traces([])
    path = explored.save(tmp_path / "rows.jsonl")
    assert len(from_traces(str(path), "seeded", budget=12).rows) == 12


def test_it_is_there_as_a_blocking_call_and_as_a_task(explored):
    from tasks import simulate_from_traces as as_task

    async def go():
        return await as_task.fn(explored.rows, "seeded", budget=8)

    assert len(sync.simulate_from_traces(explored.rows, "seeded", budget=8).rows) == 8
    assert len(sync.simulate(clerk, tools=TOOLS, budget=8).rows) == 8
    assert len(anyio.run(go).rows) == 8


def test_held_out_rows_are_neither_copied_nor_their_situations_used(explored):
    held = explored.rows[:48]
    data = run(budget=96, avoid=held, traces=graded(explored.rows[48:], "timeout"))
    shared = {row["scenario_id"] for row in held} & {row["scenario_id"] for row in data}
    assert len(data.rows) == 96
    assert not shared
    assert not {row["prompt"] for row in held} & {row["prompt"] for row in data}
    assert data.search["avoided"]["n_sources"] == 48


def test_strategies_share_out_the_budget(explored):
    traces = graded(explored.rows, "timeout")

    def origins(**options):
        data = run(budget=40, traces=traces, **options)
        return Counter(row.get("steering", {}).get("origin") for row in data)

    assert origins()[None] <= 8
    assert origins(strategy="targeted")[None] == 0
    assert set(origins(strategy="broad")) == {None}
    half = origins(steering_weight=0.5)
    assert half["targeted"] + half["twin"] == 20


def test_traces_without_a_failure_are_said_to_be_nothing_to_aim_at(explored):
    data = run(budget=16, traces=explored.rows[:3])
    assert data.search["aim"] == [] or data.search["trace_mining"]["n_flaw_rows"]
    clean = [{"prompt": "hi", "steps": [], "final_text": "hello", "reward": 1}]
    assert any("no failure" in text for text in run(budget=4, traces=clean).warnings)
