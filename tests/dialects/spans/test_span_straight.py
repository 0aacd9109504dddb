"""The quick way for straight conversations gives what the long way gives, also for near misses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from span_kit import TRACE, otlp, span

from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.spans import Span, assemble, rows_from_spans, spans_in
from whileai_core.sources.items import Origin

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT = 1
_SYSTEM = {"role": "system", "content": "You are a support agent who looks things up first."}


def told(turn: dict[str, Any], shape: str) -> dict[str, Any]:
    """A chat turn in one of the two spellings of messages."""
    if shape == "content":
        return turn
    parts: list[dict[str, Any]] = []
    if turn["role"] == "tool":
        response = {"id": turn["tool_call_id"], "response": turn["content"]}
        return {"role": "tool", "parts": [{"type": "tool_call_response", **response}]}
    if turn.get("content"):
        parts.append({"type": "text", "content": turn["content"]})
    for call in turn.get("tool_calls", ()):
        function = call["function"]
        named = {"name": function["name"], "arguments": json.loads(function["arguments"])}
        parts.append({"type": "tool_call", "id": call["id"], **named})
    return {"role": turn["role"], "parts": parts}


def conversation(
    turns: list[dict[str, Any]], shape: str = "content", **fields: Any
) -> list[dict[str, Any]]:
    """The spans of an agent that had these turns: each chat span repeats the history so far."""
    said = [told(turn, shape) for turn in turns]
    spans = [span(_ROOT, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"})]
    calls: dict[str, Any] = {}
    for index, turn in enumerate(turns):
        number = 10 * (index + 1)
        if turn["role"] == "assistant":
            calls |= {call["id"]: call["function"] for call in turn.get("tool_calls", ())}
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": "m",
                "gen_ai.usage.input_tokens": 100 + index,
                "gen_ai.usage.output_tokens": index,
                "gen_ai.input.messages": json.dumps(said[:index]),
                "gen_ai.output.messages": json.dumps([said[index]]),
            }
        elif turn["role"] == "tool":
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": calls[turn["tool_call_id"]]["name"],
                "gen_ai.tool.call.id": turn["tool_call_id"],
                "gen_ai.tool.call.arguments": calls[turn["tool_call_id"]]["arguments"],
                "gen_ai.tool.call.result": turn["content"],
            }
        else:
            continue
        spans.append(span(number, attributes, parentSpanId=f"{_ROOT:016x}", **fields))
    return spans


def asks(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def says(text: str | None, *calls: tuple[str, str]) -> dict[str, Any]:
    turn: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        turn["tool_calls"] = [
            {
                "id": call,
                "type": "function",
                "function": {"name": "look_up", "arguments": arguments},
            }
            for call, arguments in calls
        ]
    return turn


def answers(call: str, result: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call, "content": result}


def both_ways(spans: list[dict[str, Any]]) -> list[Any]:
    batch = otlp(*spans)
    long_way = [piece for piece in spans_in(batch, Origin("<memory>")) if isinstance(piece, Span)]
    rows = rows_from_otel(batch)
    assert rows == rows_from_spans(long_way)
    assert [list(row) for row in rows] == [list(row) for row in rows_from_spans(long_way)]
    return rows


TURNS = [
    _SYSTEM,
    asks("Where is my order?"),
    says(None, ("c1", '{"order": 7}')),
    answers("c1", '{"status": "sent"}'),
    says("It was sent."),
    asks("And the other?"),
    says(None, ("c2", '{"order": 8}'), ("c3", '{"order": 9}')),
    answers("c2", '{"error": "timeout"}'),
    answers("c3", "no such order"),
    says("I cannot tell."),
]


@pytest.mark.parametrize("shape", ["content", "parts"])
def test_a_straight_conversation_takes_the_quick_way(shape: str) -> None:
    spans = conversation(TURNS, shape)
    with mock.patch.object(assemble, "row_of", side_effect=AssertionError("the long way")):
        [row] = rows_from_otel(otlp(*spans))
    assert [row] == both_ways(spans)
    assert row["prompt"] == "Where is my order?"
    assert row["steps"] == [
        {"tool": "look_up", "arguments": {"order": 7}, "result": {"status": "sent"}},
        {"user": "And the other?"},
        {"tool": "look_up", "arguments": {"order": 8}, "result": {"error": "timeout"}},
        {"tool": "look_up", "arguments": {"order": 9}, "result": "no such order"},
    ]
    assert row["final_text"] == "I cannot tell."
    assert row["system"] == _SYSTEM["content"]
    assert row["usage"] == {"input_tokens": 421, "output_tokens": 21}


@pytest.mark.parametrize(
    ("at", "key"),
    [
        (0, "gen_ai.agent.name"),
        (0, "gen_ai.conversation.id"),
        (1, "gen_ai.request.model"),
        (2, "gen_ai.tool.name"),
        (2, "gen_ai.tool.call.result"),
        (5, "error.type"),
    ],
)
def test_lone_surrogates_in_memory_are_replaced(at: int, key: str) -> None:
    spans = conversation(TURNS)
    spans[at]["attributes"][key] = "odd \ud800 text"
    [row] = both_ways(spans)
    assert "\ufffd" in json.dumps(row, ensure_ascii=False)
    json.dumps(row, ensure_ascii=False).encode()


def mostly(usual: list[Any], *odd: Any) -> st.SearchStrategy[Any]:
    return st.integers(0, 19).flatmap(lambda n: st.sampled_from(usual if n else [*odd]))


ARGUMENTS = mostly(['{"order": 7}', '{"order": 8}'], "{}", '{"n": 12345678901234567890123}', "[1]")
RESULTS = mostly(
    ['{"status": "sent"}', "gone", '{"error": "timeout"}', "[1]"],
    *("null", '{"n": NaN}', " [1]", '{"a": ', '"[1]"'),
)
ASKS = mostly(["Where is my order? " * 4, "again and " * 9], "again", " ", "")
SAYINGS = mostly([None, ""], "Let me see.")


@st.composite
def exchanges(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Turns as an agent has them; now and then an id repeats or a call stays without an answer."""
    turns = [_SYSTEM] if draw(st.booleans()) else []
    names = (f"c{number}" for number in range(99))
    for number in range(draw(st.integers(1, 3))):
        turns.append(asks(draw(ASKS)))
        for _ in range(draw(st.integers(0, 2))):
            calls = [
                (draw(mostly([next(names)], "c0")), draw(ARGUMENTS))
                for _ in range(draw(st.integers(1, 2)))
            ]
            turns.append(says(draw(SAYINGS), *calls))
            turns += [answers(call, draw(RESULTS)) for call, _ in calls if draw(st.integers(0, 29))]
        turns.append(says(draw(st.sampled_from([f"answer {number}", "done", ""]))))
    return turns


def drop(spans: list[dict[str, Any]], one: dict[str, Any], _: dict[str, Any]) -> None:
    spans.remove(one)


def repeat(spans: list[dict[str, Any]], one: dict[str, Any], _: dict[str, Any]) -> None:
    spans.append(one)


def reverse(spans: list[dict[str, Any]], *_: dict[str, Any]) -> None:
    spans.reverse()


def swap_times(_: list[dict[str, Any]], one: dict[str, Any], other: dict[str, Any]) -> None:
    key = "startTimeUnixNano"
    one[key], other[key] = other[key], one[key]


def start_together(_: list[dict[str, Any]], one: dict[str, Any], other: dict[str, Any]) -> None:
    one["startTimeUnixNano"] = other["startTimeUnixNano"]


def nest(_: list[dict[str, Any]], one: dict[str, Any], other: dict[str, Any]) -> None:
    one["parentSpanId"] = other["spanId"]


def fail(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    one["status"] = {"code": 2, "message": "broke"}
    one["attributes"]["error.type"] = "Timeout"


def cut(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    messages = one["attributes"].get("gen_ai.input.messages")
    if messages:
        one["attributes"]["gen_ai.input.messages"] = messages[: 2 * len(messages) // 3]


def rewrite(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    messages = one["attributes"].get("gen_ai.input.messages")
    if messages:
        one["attributes"]["gen_ai.input.messages"] = json.dumps(json.loads(messages)[1:])


def lose_id(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    one["attributes"].pop("gen_ai.tool.call.id", None)


def part_trace(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    one["traceId"] = "ab" * 16
    one["attributes"]["gen_ai.conversation.id"] = TRACE


def part_talk(_: list[dict[str, Any]], one: dict[str, Any], __: dict[str, Any]) -> None:
    one["attributes"]["gen_ai.conversation.id"] = "elsewhere"


def nothing(*_: Any) -> None:
    pass


MISHAPS = [
    nothing,
    nothing,
    nothing,
    drop,
    repeat,
    reverse,
    swap_times,
    start_together,
    nest,
    fail,
    cut,
    rewrite,
]
MISHAPS += [lose_id, part_trace, part_talk]


@settings(max_examples=300)
@given(
    exchanges(),
    st.sampled_from(["content", "parts"]),
    st.sampled_from(MISHAPS),
    st.integers(0, 40),
)
def test_both_ways_make_the_same_rows(
    turns: list[dict[str, Any]], shape: str, befall: Callable[..., None], at: int
) -> None:
    spans = conversation(turns, shape)
    befall(spans, spans[at % len(spans)], spans[(at + 1) % len(spans)])
    both_ways(spans)
