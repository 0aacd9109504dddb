"""Rows do not depend on how spans were delivered, and nothing raises out of a span."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from span_kit import calling, chat, otlp, parent, span, tool

from whileai_core import jsonio
from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.spans import Span, rows_from_spans, spans_in
from whileai_core.sources.items import Origin

ORIGIN = Origin("<memory>")
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.prompt",
    "gen_ai.completion",
    "tool.input",
    "gen_ai.tool.call.result",
    "gen_ai.tool.call.id",
    "gen_ai.operation.name",
    "gen_ai.conversation.id",
    "openinference.span.kind",
    "input.value",
    "output.value",
    "llm.input_messages.0.message.role",
    "gen_ai.usage.input_tokens",
    "whileai.reward",
    "ai.prompt",
    "events",
    "request_data",
    "mlflow.spanType",
    "mlflow.spanInputs",
    "gcp.vertex.agent.llm_request",
    "traceloop.entity.input",
    "span.type",
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Spans of an agent that repeats its history, calls tools and hears short answers."""
    history: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}]
    spans = [span(1, {"gen_ai.operation.name": "invoke_agent"})]
    with_ids = draw(st.booleans())
    for turn in range(draw(st.integers(1, 4))):
        history.append({"role": "user", "content": draw(st.sampled_from(["yes", "no", "Book it"]))})
        for _ in range(draw(st.integers(0, 2))):
            number = len(spans) + 1
            call_id = f"c{number}" if with_ids else None
            arguments = {"n": draw(st.integers(0, 1))}
            call = calling(call_id, "f", arguments)
            spans.append(chat(number, json.dumps(history), json.dumps([call]), **parent(1)))
            answer = {
                "role": "tool",
                "content": "ok",
                **({"tool_call_id": call_id} if call_id else {}),
            }
            history += [call, answer]
            if draw(st.booleans()):
                spans.append(tool(number + 1, "f", arguments, "ok", call=call_id, **parent(1)))
        reply = {"role": "assistant", "content": f"answer {turn}"}
        spans.append(chat(len(spans) + 1, json.dumps(history), json.dumps([reply]), **parent(1)))
        history.append(reply)
    return spans


def told(history: list[dict[str, Any]], spans: list[dict[str, Any]]) -> tuple[list[str], int]:
    asks = [message["content"] for message in history if message["role"] == "user"]
    return asks, sum(1 for message in history if message.get("tool_calls"))


@given(conversations())
def test_every_turn_and_every_call_of_the_last_history_is_told_once(
    spans: list[dict[str, Any]],
) -> None:
    [row] = rows_from_otel(spans)
    last = json.loads(spans[-1]["attributes"]["gen_ai.input.messages"])
    asks, calls = told(last, spans)
    assert [row["prompt"]] + [s["user"] for s in row["steps"] if "user" in s] == asks
    assert sum(1 for step in row["steps"] if "tool" in step) == calls
    assert all(step["result"] == "ok" for step in row["steps"] if "tool" in step)
    assert row["final_text"] == f"answer {len(asks) - 1}"


@given(conversations(), st.randoms(use_true_random=False))
def test_order_repetition_and_splitting_of_delivery_change_nothing(
    spans: list[dict[str, Any]], chance: random.Random
) -> None:
    expected = rows_from_otel(spans)
    delivered = [*spans, *chance.sample(spans, chance.randint(0, len(spans)))]
    chance.shuffle(delivered)
    cut = chance.randint(0, len(delivered))
    assert rows_from_otel(delivered) == expected
    assert rows_from_otel([otlp(*delivered[:cut]), otlp(*delivered[cut:])]) == expected


@given(conversations())
def test_spans_that_went_through_a_spill_give_the_same_rows(spans: list[dict[str, Any]]) -> None:
    read = [piece for piece in spans_in(otlp(*spans), ORIGIN) if isinstance(piece, Span)]
    spilled = [Span.from_json(jsonio.loads(jsonio.dumps(item.to_json()))) for item in read]
    assert spilled == read
    assert rows_from_spans(spilled) == rows_from_otel(spans)


@given(st.lists(st.dictionaries(st.sampled_from(KEYS), json_values, max_size=6), max_size=4))
@settings(max_examples=60)
def test_no_attribute_value_raises_out_or_makes_a_row_that_is_no_json(
    attributes: list[dict[str, Any]],
) -> None:
    spans = [span(number, pairs) for number, pairs in enumerate(attributes, 1)]
    for row in rows_from_otel(spans):
        assert isinstance(row["prompt"], str)
        assert isinstance(row["final_text"], str)
        assert jsonio.loads(json.dumps(row, allow_nan=False)) == row


@given(json_values)
def test_no_payload_raises_out(value: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(value, list | dict):
            rows_from_otel(value)
            rows_from_otel({"resourceSpans": [{"scopeSpans": [{"spans": value}]}]})
