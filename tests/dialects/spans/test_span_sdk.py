"""Spans as the OpenTelemetry SDK makes them: the console's JSON and the exporter's protobuf."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from span_kit import messages, tools

from whileai_core.dialects.otel import rows_from_otel

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.sdk.trace import ReadableSpan


@pytest.fixture
def finished() -> Sequence[ReadableSpan]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("agent")
    with tracer.start_as_current_span("invoke_agent desk") as agent:
        agent.set_attribute("gen_ai.conversation.id", "k-1")
        with tracer.start_as_current_span("chat mini") as model:
            model.set_attribute("gen_ai.input.messages", messages(("user", "Pay 9")))
            model.set_attribute("gen_ai.usage.input_tokens", 12)
        with tracer.start_as_current_span("execute_tool pay") as call:
            call.set_attribute("gen_ai.operation.name", "execute_tool")
            call.set_attribute("gen_ai.tool.name", "pay")
            call.set_attribute("gen_ai.tool.call.arguments", '{"invoice": 9}')
            call.record_exception(OSError("gateway closed"))
            call.set_status(Status(StatusCode.ERROR, "failed"))
        with tracer.start_as_current_span("chat mini") as model:
            model.set_attribute("gen_ai.output.messages", messages(("assistant", "It failed.")))
    provider.shutdown()
    return exporter.get_finished_spans()


def test_what_the_console_exporter_prints_is_read(finished: Sequence[ReadableSpan]) -> None:
    printed = [json.loads(item.to_json()) for item in finished]
    [row] = rows_from_otel(printed)
    assert rows_from_otel(finished) == [row]
    assert (row["prompt"], row["final_text"], row["conversation_id"]) == (
        "Pay 9",
        "It failed.",
        "k-1",
    )
    failure = {"status": "error", "output": None, "error": "gateway closed"}
    assert tools(row) == [("pay", {"invoice": 9}, failure)]
    assert row["usage"] == {"input_tokens": 12, "output_tokens": 0}
    first = min(item.start_time or 0 for item in finished)
    assert abs(row["ts"] - first) < 1000  # the console prints microseconds
