"""The quick way for usual spans gives what the long way gives; links and stored spans are cheap."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from span_kit import TRACE, calling, chat, otlp, parent, span, tool

from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.spans import (
    Span,
    conversation_of,
    link_of,
    rows_from_spans,
    spans_in,
    unmapped_attributes,
)
from whileai_core.sources.items import Origin

TEXTS = st.sampled_from(
    [
        "",
        "a",
        "chat",
        "execute_tool",
        "0.5",
        "7",
        "[]",
        '{"a": 12345678901234567890123}',
        '[{"role": "user", "content": "again and again and again and again and again"}]',
        '[{"role": "assistant", "parts": [{"type": "text", "content": "done"}]}]',
        '[{"role": "assistant", "content": "<tool_call>{\\"name\\": \\"f\\"}</tool_call>"}]',
    ]
)
VALUES = st.one_of(
    st.builds(lambda text: {"stringValue": text}, TEXTS),
    st.builds(lambda number: {"intValue": str(number)}, st.integers(0, 9)),
    st.sampled_from([{"doubleValue": 0.5}, {"boolValue": True}, {}, {"intValue": "x"}, None]),
)
KEYS = st.sampled_from(
    [
        "gen_ai.operation.name",
        "gen_ai.conversation.id",
        "session.id",
        "thread.id",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.prompt",
        "gen_ai.request.model",
        "gen_ai.response.model",
        "gen_ai.tool.name",
        "gen_ai.tool.call.id",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.usage.input_tokens",
        "input.value",
        "output.value",
        "llm.input_messages.0.message.content",
        "ai.response.text",
        "error.type",
        "whileai.reward",
        "other.reward",
        "x",
    ]
)
ATTRIBUTES = st.lists(st.builds(lambda k, v: {"key": k, "value": v}, KEYS, VALUES), max_size=7)
IDS = st.sampled_from(["", "0" * 16, "00f067aa0ba902b7", "00F067AA0BA902B8", "2", None])
TIMES = st.sampled_from(["5", 6, "7.5", "2024-05-01T10:00:00Z", None, 1.7e18])
SPANS = st.fixed_dictionaries(
    {"traceId": st.sampled_from([TRACE, TRACE.upper(), "ab" * 16, ""]), "attributes": ATTRIBUTES},
    optional={
        "spanId": IDS,
        "parentSpanId": IDS,
        "name": st.sampled_from(["", "chat m", "execute_tool f", None, 3]),
        "startTimeUnixNano": TIMES,
        "endTimeUnixNano": TIMES,
        "status": st.sampled_from(
            [{}, {"code": 2, "message": "no"}, {"code": "STATUS_CODE_ERROR"}]
        ),
        "events": st.sampled_from(
            [[], [{"name": "exception", "attributes": {"exception.message": "boom"}}]]
        ),
    },
)


@settings(max_examples=300)
@given(st.lists(SPANS, max_size=6))
def test_both_ways_read_the_same(spans: list[dict[str, Any]]) -> None:
    batch = {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}
    rewards = ("whileai.reward", "other.reward")
    long_way = [p for p in spans_in(batch, Origin("<memory>")) if isinstance(p, Span)]
    assert rows_from_otel(batch, reward_keys=rewards) == rows_from_spans(
        long_way, reward_keys=rewards
    )


def test_the_other_spelling_of_a_fact_counts_where_the_first_is_blank() -> None:
    asked = {"gen_ai.prompt": "q", "gen_ai.response.model": "b"}
    for first, model in (("a", "a"), ("", "b")):
        [row] = rows_from_otel(otlp(span(1, {"gen_ai.request.model": first, **asked})))
        assert row["model_version"] == model


def test_a_message_that_only_names_what_spans_told_is_read_once() -> None:
    first = [{"role": "user", "content": "go " * 30}, calling("c1", "f", {"a": 1})]
    told = [*first, {"role": "tool", "tool_call_id": "c1", "content": "3"}]
    spans = [
        chat(1, json.dumps(first[:1]), json.dumps(first[1:])),
        tool(2, "f", {"a": 1}, 3, call="c1"),
        chat(3, json.dumps(told), json.dumps([{"role": "assistant", "content": "three"}])),
    ]
    [row] = rows_from_otel(otlp(*spans))
    assert row["steps"] == [{"tool": "f", "arguments": {"a": 1}, "result": "3"}]
    assert row["final_text"] == "three"


@pytest.mark.parametrize("identity", [7, None, {"n": 1}, ["c1"]])
def test_odd_call_ids_in_messages_do_no_harm(identity: object) -> None:
    said = [
        {"role": "tool", "tool_call_id": identity, "content": "3"},
        {"role": "assistant", "tool_calls": [{"id": identity, "function": {"name": "f"}}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": identity, "name": "f"}]},
    ]
    asked = json.dumps([{"role": "user", "content": "go " * 30}, *said])
    spans = [chat(1, asked, json.dumps(said)), tool(2, "f", {"a": 1}, 3, **parent(1))]
    [row] = rows_from_otel(otlp(*spans))
    assert row["prompt"] == "go " * 30


ATTRIBUTE_SETS = st.dictionaries(
    st.sampled_from(
        ["gen_ai.conversation.id", "session.id", "thread.id", "thread.name", "gen_ai.prompt"]
    ),
    st.sampled_from(["", " ", "c-1", '"c-2"', 12, True, None]),
)


@given(ATTRIBUTE_SETS, st.sampled_from(["", TRACE]))
def test_a_stored_span_names_its_links(attributes: dict[str, Any], trace: str) -> None:
    one = Span(trace, attributes=attributes)
    assert link_of(one.to_json()) == (trace, conversation_of(one) or "")
    assert Span.from_json(one.to_json()) == one
    rows = rows_from_spans([Span(trace, attributes={"gen_ai.completion": "a", **attributes})])
    assert rows[0]["conversation_id"] == (
        conversation_of(one) or trace or rows[0]["conversation_id"]
    )


def test_rewards_are_read_and_so_not_unmapped() -> None:
    spans = [Span(attributes={"whileai.reward": 1, "my.reward": 1})]
    assert unmapped_attributes(spans) == {("", "my.reward"): 1}
    assert unmapped_attributes(spans, reward_keys=("my.reward",)) == {("", "whileai.reward"): 1}
