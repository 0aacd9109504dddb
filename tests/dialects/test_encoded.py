"""Messages, calls and results that were turned into text on the way, once or twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whileai_core import load_traces, rows_from_otel

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
ASK = {"role": "user", "content": "go"}
REPLY = {"role": "assistant", "content": "done"}


def steps_of(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    (row,) = load_traces([{"messages": [ASK, *messages]}])
    steps: list[dict[str, Any]] = row["steps"][1:]
    return steps


@pytest.mark.parametrize(
    "said",
    [
        {"tool_calls": CALL},
        {"tool_calls": json.dumps([CALL])},
        {"tool_calls": json.dumps(CALL)},
        {"tool_calls": [json.dumps(CALL)]},
        {"function_call": json.dumps(CALL["function"])},
    ],
    ids=str,
)
def test_calls_alone_or_as_text_are_calls(said: dict[str, Any]) -> None:
    message = {"role": "assistant", "content": None, **said}
    assert steps_of(message, {"role": "tool", "tool_call_id": "1", "content": "ok"}) == [
        {"tool": "f", "arguments": {"a": 1}, "result": "ok"}
    ]


@pytest.mark.parametrize("said", [{"tool_calls": "none"}, {"tool_calls": "", "function_call": {}}])
def test_text_that_names_no_calls_is_none(said: dict[str, Any]) -> None:
    assert steps_of({"role": "assistant", "content": "done", **said}) == [{"text": "done"}]


@pytest.mark.parametrize(
    ("content", "result"),
    [
        (json.dumps(json.dumps({"a": 1})), {"a": 1}),
        (json.dumps(json.dumps([1, 2])), [1, 2]),
        (json.dumps("42"), "42"),
        (json.dumps("{cut"), "{cut"),
    ],
)
def test_results_encoded_twice(content: str, result: Any) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    (step,) = steps_of(call, {"role": "tool", "tool_call_id": "1", "content": content})
    assert step["result"] == result


@pytest.mark.parametrize("write", [json.dumps, str], ids=["JSON", "Python"])
def test_messages_as_text(write: Any) -> None:
    for rows in (
        load_traces([{"messages": write([ASK, REPLY])}]),
        rows_from_otel(
            [
                {
                    "traceId": "a1",
                    "spanId": "1",
                    "attributes": {
                        "gen_ai.input.messages": write([ASK]),
                        "gen_ai.output.messages": write([REPLY]),
                    },
                }
            ]
        ),
    ):
        assert [(row["prompt"], row["final_text"]) for row in rows] == [("go", "done")]


@pytest.mark.parametrize("missing", ["None", "null", "undefined", '"null"'])
def test_ids_that_print_nothing_group_nothing(missing: str) -> None:
    def span(trace: str) -> dict[str, Any]:
        attributes = {"gen_ai.prompt": "go", "session.id": missing}
        return {"traceId": trace, "spanId": "1", "attributes": attributes}

    assert [row["conversation_id"] for row in rows_from_otel([span("a1"), span("a2")])] == [
        "a1",
        "a2",
    ]
