"""A chat endpoint as an agent: tools, follow-ups, and every way a turn can go wrong."""

from __future__ import annotations

import anyio
import pytest
from chat_server import REPEAT

from whileai_core import ChatEndpoint
from whileai_core.errors import AgentError, EndpointDead, SpendExhausted
from whileai_core.simulation.agents import open_agent
from whileai_core.simulation.demo import TOOLS
from whileai_core.simulation.spend import Spend
from whileai_core.simulation.worlds import World

LOOKUP = ["lookup_order", {"order_id": "ORD-1001"}]


def roll_out(chat, prompt="Where is ORD-1001?", *, world=None, user=None, **options):
    async def run():
        endpoint = ChatEndpoint(chat.url, "agent")
        user_model = ChatEndpoint(chat.url, "user") if user else None
        async with open_agent(endpoint, tools=TOOLS, user_model=user_model, **options) as runner:
            return await runner.roll_out(prompt, world or a_world())

    return anyio.run(run)


def a_world(**options):
    return World(TOOLS, world_state="entity exists", seed=1, **options)


def test_tools_are_answered_by_the_world_and_everything_lands_on_the_rollout(chat):
    chat.script(
        "agent",
        {"tools": [LOOKUP], "usage": [20, 6]},
        {"text": "<think>easy</think>It is on its way.", "usage": [40, 8]},
    )
    world = a_world(faults={"lookup_order": {"mode": "permission_denied", "rate": 1.0}})
    rollout = roll_out(chat, world=world, system_prompt="Be kind.", temperature=0.2)
    call, said = rollout.steps
    assert (call["tool"], call["arguments"]) == ("lookup_order", {"order_id": "ORD-1001"})
    assert call["result"] == {"status": "permission_denied"}
    assert (call["input_tokens"], call["output_tokens"]) == (20, 6)
    assert said == {"text": "It is on its way.", "input_tokens": 40, "output_tokens": 8}
    assert rollout.final_text == "It is on its way."
    assert (rollout.finish_reason, rollout.ended_by) == ("stop", None)
    assert rollout.usage == {"input_tokens": 60, "output_tokens": 14}
    assert world.served == [("lookup_order", "permission_denied")]

    first, second = chat.seen
    assert first["messages"][0] == {"role": "system", "content": "Be kind."}
    assert first["tools"][0]["function"]["name"] == "lookup_order"
    assert (first["temperature"], first["max_tokens"]) == (0.2, 768)
    asked, answered = second["messages"][-2:]
    assert asked["tool_calls"][0]["id"] == answered["tool_call_id"]
    assert answered["role"] == "tool"
    assert answered["content"] == '{"status": "permission_denied"}'


def test_several_calls_in_one_turn_keep_their_ids_apart(chat):
    chat.script(
        "agent",
        {"tools": [[*LOOKUP, ""], ["cancel_order", {"order_id": "ORD-1001"}, ""]]},
        "Cancelled.",
    )
    rollout = roll_out(chat)
    assert [step.get("tool") for step in rollout.steps] == ["lookup_order", "cancel_order", None]
    answers = [message for message in chat.seen[1]["messages"] if message["role"] == "tool"]
    assert len({message["tool_call_id"] for message in answers}) == 2


def test_a_question_is_answered_by_the_user_and_the_talk_goes_on(chat):
    chat.script("agent", "Which order?", {"tools": [LOOKUP]}, "It is on its way.")
    chat.script("user", "ORD-1001,\nas I said")
    rollout = roll_out(chat, user=True)
    assert rollout.steps[0]["text"] == "Which order?"
    assert rollout.steps[1] == {"user": "ORD-1001, as I said"}
    assert rollout.final_text == "It is on its way."
    asked = [request for request in chat.seen if request["model"] == "user"]
    assert len(asked) == 1  # nobody answers what is no question
    assert "tools" not in asked[0]
    assert (asked[0]["temperature"], asked[0]["max_tokens"]) == (0.475, 256)
    assert [message["role"] for message in asked[0]["messages"]] == ["system", "user"]


def test_what_the_agent_says_in_several_goes_is_one_message_to_the_user(chat):
    chat.script("agent", {"text": "Let me look.", "tools": [LOOKUP]}, "Which of them?", "Good.")
    chat.script("user", "the first")
    roll_out(chat, user=True)
    (asked,) = [request for request in chat.seen if request["model"] == "user"]
    assert [message["content"] for message in asked["messages"][1:]] == [
        "Let me look.\nWhich of them?"
    ]


def test_a_user_may_leave_or_have_nothing_to_say(chat):
    chat.script("agent", "Which order?", REPEAT)
    chat.script("user", "[LEAVE]")
    left = roll_out(chat, user=True)
    assert (left.ended_by, left.final_text) == ("user_left", "Which order?")
    chat.script("user", "[DONE]")
    silent = roll_out(chat, user=True)
    assert (silent.ended_by, len(silent.steps)) == (None, 1)


def test_the_same_model_plays_the_user_unless_another_is_named(chat):
    chat.script("agent", "Which order?", "the one from Monday", "Found it.")

    async def run():
        async with open_agent(ChatEndpoint(chat.url, "agent"), tools=TOOLS) as runner:
            rollout = await runner.roll_out("Where is it?", a_world())
            return runner.user_model, runner.name, runner.sampling, rollout

    user_model, name, sampling, rollout = anyio.run(run)
    assert (user_model, name) == ("agent", "agent")
    assert sampling == {"model": "agent", "temperature": 0.8, "max_tokens": 768}
    assert rollout.steps[1] == {"user": "the one from Monday"}


def test_the_talk_ends_with_the_turns_and_never_on_a_question_to_the_user(chat):
    chat.script("agent", "Which order?", REPEAT)
    chat.script("user", "mine", REPEAT)
    rollout = roll_out(chat, user=True, max_turns=3)
    assert [next(iter(step)) for step in rollout.steps] == ["text", "user", "text", "user", "text"]


def test_an_agent_that_only_calls_tools_is_a_row_that_says_so(chat):
    chat.script("agent", {"tools": [LOOKUP]}, REPEAT)
    rollout = roll_out(chat, max_turns=2)
    assert (rollout.finish_reason, rollout.final_text, len(rollout.steps)) == ("tool", "", 2)


def test_a_reply_cut_at_the_limit_ends_the_talk(chat):
    chat.script("agent", {"text": "It is on its w", "finish": "length"}, "never asked")
    rollout = roll_out(chat)
    assert rollout.finish_reason == "length"
    assert rollout.steps[-1]["truncated"] is True
    assert len(chat.seen) == 1


@pytest.mark.parametrize("raw", ['{"order_id": "ORD-', "ORD-1001", '["ORD-1001"]'])
def test_arguments_that_are_no_object_are_told_to_the_model_and_not_to_the_world(chat, raw):
    chat.script("agent", {"tools": [["lookup_order", raw]]}, {"tools": [LOOKUP]}, "Found.")
    world = a_world()
    rollout = roll_out(chat, world=world)
    bad, good, _ = rollout.steps
    assert (bad["arguments"], bad["result"]["reason"]) == ({"_text": raw}, "malformed_arguments")
    assert good["result"]["status"] == "ok"
    assert len(world.steps) == 1
    # Chat templates parse the arguments in the history: they must be an object there.
    history = chat.seen[1]["messages"][-2]["tool_calls"][0]
    assert history["function"]["arguments"] == "{}"


def test_a_call_without_arguments_has_an_empty_object(chat):
    chat.script("agent", {"tools": [["lookup_order", ""]]}, "Missing a number.")
    step = roll_out(chat).steps[0]
    assert (step["arguments"], step["result"]["reason"]) == ({}, "missing_required")


def test_an_empty_reply_is_asked_again_and_nothing_at_all_is_no_row(chat):
    chat.script("agent", "", "<think>hm</think>", "Here I am.")
    assert roll_out(chat).final_text == "Here I am."
    chat.script("agent", "", REPEAT)
    with pytest.raises(AgentError) as caught:
        roll_out(chat, max_turns=3)
    assert caught.value.kind == "empty_reply"
    assert len(chat.seen) == 6


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "lookup_order"}</tool_call>',
        "[TOOL_CALLS][{}]",
        "<function=lookup_order>{}",
    ],
)
def test_a_tool_call_written_as_text_is_no_row(chat, text):
    chat.script("agent", text)
    with pytest.raises(AgentError, match="tool call parser") as caught:
        roll_out(chat)
    assert caught.value.kind == "tool_markup"


def test_an_endpoint_fault_loses_the_rollout_and_a_dead_one_ends_the_run(chat):
    chat.script("agent", {"status": 400, "error": {"message": "too long"}})
    with pytest.raises(AgentError) as caught:
        roll_out(chat)
    assert caught.value.kind == "endpoint_error"
    chat.script("agent", {"status": 401}, REPEAT)
    with pytest.raises(EndpointDead):
        roll_out(chat)


def test_a_budget_that_is_used_up_ends_the_run(chat):
    chat.script("agent", {"tools": [LOOKUP]}, REPEAT)
    with pytest.raises(SpendExhausted):
        roll_out(chat, spend=Spend(max_calls=2))
