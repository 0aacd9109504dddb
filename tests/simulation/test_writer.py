"""Prompts written by a model: what is taken, what is not, and what is asked again."""

from __future__ import annotations

import json

import anyio
import pytest
from chat_server import REPEAT

from whileai_core import ChatEndpoint
from whileai_core.errors import EndpointDead
from whileai_core.simulation.cards import Card
from whileai_core.simulation.demo import TOOLS
from whileai_core.simulation.writer import open_writer

ASSIGNMENT = {
    "tool": "cancel_order",
    "rule": "unspecified",
    "stance": "hurried",
    "world_state": "entity missing",
    "tool_condition": "permission_denied",
    "history": "fresh",
}
CARD = Card("sc-1", ASSIGNMENT, references=("ORD-1001",))


def write(chat, *cards, variant=0):
    async def run():
        async with open_writer(
            ChatEndpoint(chat.url, "writer"), tools=TOOLS, policy="Be kind."
        ) as writer:
            assert writer.name == "writer"
            return await writer.write(cards, variant)

    return anyio.run(run)


def answer(*messages):
    entries = [{"id": str(at), "message": text} for at, text in enumerate(messages)]
    return json.dumps(entries)


def test_one_call_for_a_batch_of_cards(chat):
    chat.script("writer", "Here you go:\n" + answer("Stop ORD-1001, quick.", "And mine too?"))
    assert write(chat, CARD, Card("sc-2", ASSIGNMENT)) == ["Stop ORD-1001, quick.", "And mine too?"]
    (request,) = chat.seen
    system, told = (message["content"] for message in request["messages"])
    assert "Be kind." in system
    assert "cancel_order(order_id): Cancel an order." in system
    assert "references: ORD-1001" in told
    assert "hurried" in told
    assert "unspecified" not in told
    assert 0.45 <= request["temperature"] <= 1.05
    assert request["max_tokens"] == 128 + 2 * 130


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "Sure, I can help with that!",
        "As an AI, I cannot.",
        "Please run cancel_order for me.",
        "My entity missing is gone.",
        "Cancel ORD-9999 please.",
        7,
    ],
)
def test_what_no_user_would_say_is_asked_again_once(chat, bad):
    chat.script("writer", answer(bad), answer("Please stop ORD-1001."))
    assert write(chat, CARD) == ["Please stop ORD-1001."]
    chat.script("writer", answer(bad), REPEAT)
    assert write(chat, CARD) == [None]


def test_only_what_is_missing_is_asked_again_and_nothing_is_taken_twice(chat):
    twin = Card("sc-2", ASSIGNMENT, references=("ORD-1001",))
    chat.script(
        "writer",
        answer("Please stop ORD-1001.", "please  stop ord-1001."),
        json.dumps([{"id": "1", "message": "ORD-1001 must not go out."}]),
    )
    assert write(chat, CARD, twin) == ["Please stop ORD-1001.", "ORD-1001 must not go out."]
    assert "Card 0" not in chat.seen[1]["messages"][1]["content"]


def test_an_array_that_was_cut_gives_what_is_whole(chat):
    cut = answer("Please stop ORD-1001.", "Mine as well")[:-12]
    chat.script("writer", {"text": cut, "finish": "length"}, "no JSON at all")
    assert write(chat, CARD, Card("sc-2", ASSIGNMENT)) == ["Please stop ORD-1001.", None]


def test_faults_leave_cards_open_and_a_dead_endpoint_is_raised(chat):
    chat.script("writer", {"status": 400, "error": {"message": "odd"}}, REPEAT)
    assert write(chat, CARD) == [None]
    chat.script("writer", {"status": 401}, REPEAT)
    with pytest.raises(EndpointDead):
        write(chat, CARD)
