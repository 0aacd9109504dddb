"""Callables as agents: every signature, every return, and what is lost when they fail."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from types import SimpleNamespace

import anyio
import pytest

from whileai_core.errors import AgentError, InputError, SettingsError
from whileai_core.simulation.agents import AgentSpec, agent_name, open_agent, source_version
from whileai_core.simulation.context import current_rollout, world
from whileai_core.simulation.demo import TOOLS
from whileai_core.simulation.spend import Spend
from whileai_core.simulation.worlds import World

ARGUMENTS = {"order_id": "ORD-1001"}


def a_world(**options):
    return World(TOOLS, world_state="entity exists", seed=1, **options)


def roll_out(agent, prompt="Where is ORD-1001?", *, inside=None, **options):
    async def run():
        async with open_agent(agent, tools=TOOLS, **options) as runner:
            return await runner.roll_out(prompt, inside or a_world(), rollout_index=2, seed=7)

    return anyio.run(run)


class Async:
    async def __call__(self, message):
        await world(TOOLS).call("lookup_order", ARGUMENTS)
        return "found"


class Sync:
    name = "my-agent"

    def __call__(self, message):
        world().call("lookup_order", ARGUMENTS)
        return "found"


async def awaits(message, world):
    assert (await world.call("lookup_order", ARGUMENTS))["status"] == "ok"
    return "found"


async def does_not_await(message, world):
    assert world.call("lookup_order", ARGUMENTS)["status"] == "ok"
    return "found"


def plain(message, world):
    assert world.call("lookup_order", ARGUMENTS)["status"] == "ok"
    return "found"


def decorated(message):
    return awaits(message, world())


@pytest.mark.parametrize(
    "agent",
    [Async(), Sync(), awaits, does_not_await, plain, functools.partial(plain), decorated],
    ids=lambda agent: getattr(agent, "__name__", type(agent).__name__),
)
def test_what_a_callable_asks_the_world_becomes_its_steps(agent):
    rollout = roll_out(agent)
    (step,) = rollout.steps
    assert (step["tool"], step["arguments"], step["result"]["status"]) == (
        "lookup_order",
        ARGUMENTS,
        "ok",
    )
    assert (rollout.final_text, rollout.finish_reason, rollout.usage) == ("found", "stop", None)


@pytest.mark.parametrize("agent", [plain, awaits, Sync(), Async()])
def test_a_world_of_the_callers_own_may_be_async(agent):
    async def execute(tool, arguments):
        await asyncio.sleep(0)
        return {"status": "ok", "tool": tool}

    (step,) = roll_out(agent, inside=a_world(execute=execute)).steps
    assert step["result"] == {"status": "ok", "tool": "lookup_order"}


def test_a_plain_function_runs_beside_the_loop_and_knows_its_rollout():
    seen = SimpleNamespace()

    def agent(message):
        rollout = current_rollout.get()
        seen.thread, seen.facts = (
            threading.current_thread(),
            (
                rollout.prompt,
                rollout.rollout_index,
                rollout.seed,
                rollout.world_state,
                rollout.system_prompt,
                [tool["name"] for tool in rollout.tools],
            ),
        )
        return "ok"

    roll_out(agent, prompt="hi", system_prompt="Be kind.")
    names = ["lookup_order", "cancel_order", "create_ticket"]
    assert seen.facts == ("hi", 2, 7, "entity exists", "Be kind.", names)
    assert seen.thread is not threading.main_thread()


def test_there_is_no_world_outside_of_a_rollout():
    with pytest.raises(InputError, match="simulate"):
        world()


def test_a_second_parameter_with_a_default_of_its_own_is_not_the_world():
    assert roll_out(lambda message, history=(): f"{len(history)}").final_text == "0"
    assert roll_out(lambda message, world=None: str(world.inner.world_state)).final_text == (
        "entity exists"
    )


OPENAI = {"choices": [{"message": {"role": "assistant", "content": "done"}}]}
TALK = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Where is ORD-1001?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "lookup_order", "arguments": '{"order_id": "ORD-1001"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": '{"status": "ok"}'},
    {"role": "assistant", "content": "done"},
]


@pytest.mark.parametrize(
    "returned",
    [
        "done",
        {"final_text": "done"},
        {"steps": [], "final_text": "done"},
        {"role": "assistant", "content": "done"},
        [{"role": "assistant", "content": "done"}],
        {"messages": [{"role": "assistant", "content": "done"}]},
        SimpleNamespace(model_dump=lambda: {"role": "assistant", "content": "done"}),
        OPENAI,
    ],
    ids=["text", "final", "row", "message", "list", "messages", "object", "response"],
)
def test_replies_of_every_shape(returned):
    assert roll_out(lambda message: returned).final_text == "done"


@pytest.mark.parametrize("returned", [TALK, {"messages": TALK}])
def test_a_talk_that_is_returned_whole_brings_its_own_steps(returned):
    rollout = roll_out(lambda message: returned)
    assert rollout.steps[0]["tool"] == "lookup_order"
    assert rollout.steps[0]["result"] == {"status": "ok"}
    assert rollout.final_text == "done"
    assert not any("user" in step for step in rollout.steps)


def test_further_facts_of_a_returned_row_are_kept():
    rollout = roll_out(
        lambda message: {
            "final_text": "done",
            "finish_reason": "length",
            "ended_by": "user_left",
            "usage": {"input_tokens": 3, "output_tokens": 4},
            "seeded": ["apology"],
            "reward": 1,
        }
    )
    assert (rollout.finish_reason, rollout.ended_by) == ("length", "user_left")
    assert rollout.usage == {"input_tokens": 3, "output_tokens": 4}
    assert rollout.extra == {"seeded": ["apology"]}


@pytest.mark.parametrize(
    ("returned", "kind"),
    [
        (None, "unreadable_reply"),
        (42, "unreadable_reply"),
        ({"status": "ok"}, "unreadable_reply"),
        ({"final_text": 7}, "unreadable_reply"),
        ("", "empty_reply"),
        ("  \n", "empty_reply"),
        ({"final_text": ""}, "empty_reply"),
    ],
)
def test_what_is_no_reply_is_no_row(returned, kind):
    with pytest.raises(AgentError) as caught:
        roll_out(lambda message: returned)
    assert caught.value.kind == kind


def test_an_agent_that_raises_is_no_row_and_its_words_are_kept():
    def agent(message):
        raise KeyError("order")

    with pytest.raises(AgentError, match=r"<agent error: KeyError: 'order'>") as caught:
        roll_out(agent)
    assert caught.value.kind == "agent_error"


def test_no_secret_in_the_words_of_an_agent_that_raises():
    def agent(message):
        raise RuntimeError("refused: api_key=sk-canary-51a7c0ffee")

    with pytest.raises(AgentError, match=r"<agent error: RuntimeError: refused: api_key=\*\*\*>"):
        roll_out(agent)


def test_a_timeout_of_the_agents_own_is_not_ours():
    def agent(message):
        raise TimeoutError("backend")

    with pytest.raises(AgentError, match="backend") as caught:
        roll_out(agent)
    assert caught.value.kind == "agent_error"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_an_agent_that_takes_too_long_is_given_up(kind):
    async def sleeps(message):
        await anyio.sleep(60)

    agent = sleeps if kind == "async" else lambda message: time.sleep(1)
    with pytest.raises(AgentError, match=r"0\.05 s") as caught:
        roll_out(agent, timeout=0.05)
    assert caught.value.kind == "timeout"


def test_many_plain_functions_run_at_once():
    barrier = threading.Barrier(48, timeout=60)

    def agent(message):
        barrier.wait()
        return "ok"

    async def run():
        async with (
            open_agent(agent, tools=TOOLS, concurrency=48) as runner,
            anyio.create_task_group() as group,
        ):
            for _ in range(48):
                group.start_soon(runner.roll_out, "hi", a_world())

    anyio.run(run)
    assert not barrier.broken


def test_async_agents_share_the_loop_of_the_run():
    loops = set()

    async def agent(message):
        loops.add(id(asyncio.get_running_loop()))
        return "ok"

    async def run():
        async with (
            open_agent(agent, tools=TOOLS) as runner,
            anyio.create_task_group() as group,
        ):
            for _ in range(8):
                group.start_soon(runner.roll_out, "hi", a_world())
        return {id(asyncio.get_running_loop())}

    assert anyio.run(run) == loops


def test_calls_of_a_callable_count():
    spend = Spend(max_calls=5)
    roll_out(lambda message: "ok", spend=spend)
    assert spend.report()["calls_by_role"] == {"agent": 1}


def test_names_of_agents():
    assert agent_name(plain) == "plain"
    assert agent_name(functools.partial(plain)) == "plain"
    assert agent_name(Sync()) == "my-agent"
    assert agent_name(lambda message: "") == "lambda_agent"
    assert agent_name("vllm:m@http://127.0.0.1:1") == "m"


def test_what_is_no_agent_is_refused():
    with pytest.raises(InputError, match="callable"):
        roll_out(7)
    with pytest.raises(SettingsError, match="names no chat endpoint"):
        roll_out("my agent")


def test_a_spec_survives_json():
    spec = AgentSpec("openai:gpt-x", "Be kind.")
    assert AgentSpec.from_dict(spec.to_dict()) == spec


def _made(source):
    """Return a function as one typed at a prompt or into a notebook: it has no file."""
    names = {"__name__": "a_prompt"}
    exec(compile(source, "<cell>", "exec"), names)
    return names["agent"]


def test_the_version_of_an_agent_changes_with_its_source():
    yes, no = "def agent(message):\n    return 'yes'", "def agent(message):\n    return 'no'"
    assert source_version(_made(yes)) == source_version(_made(yes))
    assert source_version(_made(yes)) != source_version(_made(no))
    assert source_version("vllm:model@http://127.0.0.1:1") is None
