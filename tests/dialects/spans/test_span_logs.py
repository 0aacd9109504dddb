"""Messages that instrumentors write to log records, beside the spans or instead of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from span_kit import TRACE, calling, messages, span, tool, wire

from whileai_core.dialects.load import RecordsLeftOut, load_traces
from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.spans import spans_in
from whileai_core.sources.items import Ignored, Origin, Reject

DETAILS = "gen_ai.client.inference.operation.details"
OSLO = {"city": "Oslo"}
CALL = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "c1", "name": "weather", "arguments": OSLO}],
}
RESULT = {
    "role": "tool",
    "parts": [{"type": "tool_call_response", "id": "c1", "response": "sun"}],
}
ASK = {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}
SAY = {"role": "assistant", "parts": [{"type": "text", "content": "Sun."}]}
STEPS = [{"tool": "weather", "arguments": OSLO, "result": "sun"}]


def record(number: int, name: str, attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A log record of the span with this number, written when that ended."""
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "observedTimeUnixNano": str(number * 10 + 5),
        "eventName": name,
        "attributes": [{"key": key, "value": wire(value)} for key, value in attributes.items()],
        **fields,
    }


def logs(*records: Any) -> dict[str, Any]:
    scope = {"scope": {"name": "genai"}, "logRecords": list(records)}
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [scope]}]}


def details(number: int, given: list[Any], gave: list[Any]) -> dict[str, Any]:
    return record(
        number,
        DETAILS,
        {
            "gen_ai.input.messages": given,
            "gen_ai.output.messages": gave,
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.output_tokens": 10,
            "gen_ai.request.model": "m",
        },
    )


TOLD = (details(1, [ASK], [CALL]), details(3, [ASK, CALL, RESULT], [SAY]))


def bare(number: int) -> dict[str, Any]:
    """The span of a model call whose messages are in a log record."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.output_tokens": 10,
    }
    return span(number, attributes, startTimeUnixNano=number * 10, endTimeUnixNano=number * 10 + 5)


@pytest.mark.parametrize("spans", [[], [bare(1), bare(3)]])
def test_messages_in_log_records_are_the_conversation(spans: list[Any]) -> None:
    for items in ([*spans, logs(*TOLD)], [logs(*TOLD[::-1]), *spans, logs(TOLD[0])]):
        [row] = rows_from_otel(items)
        assert (row["prompt"], row["steps"], row["final_text"]) == (
            "Weather in Oslo?",
            STEPS,
            "Sun.",
        )
        assert row["usage"] == {"input_tokens": 100, "output_tokens": 20}
        assert (row["conversation_id"], row["model_version"]) == (TRACE, "m")


def test_a_tool_span_claims_the_call_of_a_log_record() -> None:
    run = tool(2, "weather", None, "sun", call="other") | {"startTimeUnixNano": 18}
    [row] = rows_from_otel([logs(*TOLD), run])
    assert row["steps"] == STEPS


def body(number: int, name: str, **said: Any) -> dict[str, Any]:
    return record(number, "", {"event.name": name, "gen_ai.system": "openai"}, body=wire(said))


OLDER = (
    body(1, "gen_ai.system.message", content="Be brief."),
    body(1, "gen_ai.user.message", content="Weather in Oslo?"),
    body(1, "gen_ai.choice", index=0, message=calling("c1", "weather", OSLO)),
    body(3, "gen_ai.system.message", content="Be brief."),
    body(3, "gen_ai.user.message", content="Weather in Oslo?"),
    body(3, "gen_ai.assistant.message", tool_calls=calling("c1", "weather", OSLO)["tool_calls"]),
    body(3, "gen_ai.tool.message", id="c1", content="sun"),
    body(3, "gen_ai.choice", index=0, message={"role": "assistant", "content": "Sun."}),
)


@pytest.mark.parametrize("batches", [[logs(*OLDER)], [logs(each) for each in OLDER]])
def test_a_record_for_each_message_is_the_conversation(batches: list[Any]) -> None:
    [row] = rows_from_otel(batches)
    assert (row["prompt"], row["steps"], row["final_text"]) == ("Weather in Oslo?", STEPS, "Sun.")
    assert row["system"] == "Be brief."


def test_other_records_are_left_out_and_accounted_for(tmp_path: Path) -> None:
    batch = logs(record(1, "http.request", {"http.route": "/"}), *TOLD, None, "broken")
    pieces = list(spans_in(batch, Origin("logs")))
    reasons = [piece.reason for piece in pieces if isinstance(piece, Ignored | Reject)]
    assert sorted(reasons) == ["no_conversation", "not_a_span"]

    path = tmp_path / "logs.jsonl"
    path.write_text(json.dumps(batch) + "\n", encoding="utf-8")
    with pytest.warns(RecordsLeftOut, match="1 record"):
        [row] = load_traces(str(path))
    assert row["final_text"] == "Sun."


def test_events_on_spans_are_read_as_before() -> None:
    told = span(1, {"gen_ai.operation.name": "chat"})
    told["events"] = [
        {
            "name": DETAILS,
            "attributes": {
                "gen_ai.input.messages": messages(("user", "Hi")),
                "gen_ai.output.messages": messages(("assistant", "Hello")),
            },
        }
    ]
    [row] = rows_from_otel([told])
    assert (row["prompt"], row["final_text"]) == ("Hi", "Hello")


ODD = st.recursive(
    st.none() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["key", "value", "stringValue", "kvlistValue", "values", "content"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
FIELDS = ("traceId", "spanId", "attributes", "body", "timeUnixNano", "observedTimeUnixNano")


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([DETAILS, "gen_ai.user.message", "gen_ai.tool.message", "gen_ai.choice"]),
    st.dictionaries(st.sampled_from(FIELDS), ODD, max_size=6),
)
@example("gen_ai.choice", {"attributes": [{"key": None, "value": {}}]})
def test_no_record_however_odd_stops_the_others(name: str, fields: dict[str, Any]) -> None:
    rows = rows_from_otel([logs({**fields, "eventName": name}, *TOLD)])
    assert [row["final_text"] for row in rows if row["conversation_id"] == TRACE] == ["Sun."]
