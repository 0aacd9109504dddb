"""The real OpenTelemetry SDK with its OTLP/HTTP exporter, pointed at the gate."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.exporter.otlp.common.http import Compression
from opentelemetry.exporter.otlp.json.http.trace_exporter import OTLPSpanExporter as JsonExporter
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.exporter.otlp.proto.http.trace_exporter import (
    OTLPSpanExporter as ProtobufExporter,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    SimpleSpanProcessor,
    SpanExporter,
    SpanExportResult,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from otlp_kit import message
from test_gate_otlp import rows


def _converse(tracer: Any, asked: str, said: str) -> None:
    """Record one turn of an agent: agent span, tool call, model call."""
    with tracer.start_as_current_span("invoke_agent") as agent:
        agent.set_attribute("gen_ai.operation.name", "invoke_agent")
        agent.set_attribute("gen_ai.agent.name", "Weather Bot")
        with tracer.start_as_current_span("execute_tool radar") as call:
            call.set_attribute("gen_ai.operation.name", "execute_tool")
            call.set_attribute("gen_ai.tool.name", "radar")
            call.set_attribute("gen_ai.tool.call.id", "call-1")
            call.set_attribute("gen_ai.tool.call.arguments", '{"km": 5}')
            call.set_attribute("gen_ai.tool.call.result", '{"rain": false}')
        with tracer.start_as_current_span("chat model") as chat:
            chat.set_attribute("gen_ai.operation.name", "chat")
            chat.set_attribute("gen_ai.request.model", "model-1")
            chat.set_attribute("gen_ai.usage.input_tokens", 12)
            chat.set_attribute("gen_ai.input.messages", message("user", asked))
            chat.set_attribute("gen_ai.output.messages", message("assistant", said))


def _provider(processor: Any) -> TracerProvider:
    provider = TracerProvider(resource=Resource.create({"service.name": "weather-service"}))
    provider.add_span_processor(processor)
    return provider


def _exporter(
    exporter_type: Any, served: Any, key: str, compression: Compression = Compression.NONE
) -> Any:
    return exporter_type(
        endpoint=f"{served.origin}/v1/traces",
        headers={"x-api-key": key},
        compression=compression,
        timeout=10,
    )


class _Noting(SpanExporter):
    """Passes spans on and remembers how that went."""

    def __init__(self, exporter: SpanExporter) -> None:
        self.results: list[SpanExportResult] = []
        self._exporter = exporter

    def export(self, spans: Any) -> SpanExportResult:
        self.results.append(self._exporter.export(spans))
        return self.results[-1]

    def shutdown(self) -> None:
        self._exporter.shutdown()


@pytest.mark.parametrize("exporter_type", [ProtobufExporter, JsonExporter])
@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("processor", [BatchSpanProcessor, SimpleSpanProcessor])
def test_spans_straight_from_the_exporter(
    served: Any,
    user: Any,
    exporter_type: Any,
    compression: Compression,
    processor: Any,
    caplog: Any,
) -> None:
    exporter = _Noting(_exporter(exporter_type, served, user.key, compression))
    provider = _provider(processor(exporter))
    with caplog.at_level(logging.WARNING, logger="opentelemetry"):
        for number in range(3):
            _converse(provider.get_tracer("t"), f"Rain {number}?", "No.")
        provider.shutdown()
    assert set(exporter.results) == {SpanExportResult.SUCCESS}
    assert not [record for record in caplog.records if record.name.startswith("opentelemetry")]
    assert user.call("GET", "/traces?agent=weather-bot", 200)["total"] == 3
    (dataset,) = user.listed()
    seen = rows(user, dataset)
    assert sorted(row["prompt"] for row in seen) == ["Rain 0?", "Rain 1?", "Rain 2?"]
    assert {row["final_text"] for row in seen} == {"No."}
    assert seen[0]["steps"] == [
        {"tool": "radar", "arguments": {"km": 5}, "result": {"rain": False}}
    ]


def _recorded() -> Any:
    memory = InMemorySpanExporter()
    _converse(_provider(SimpleSpanProcessor(memory)).get_tracer("t"), "Rain?", "No.")
    return encode_spans(memory.get_finished_spans())


def test_json_and_protobuf_of_the_same_spans_are_one_trace(served: Any, user: Any) -> None:
    memory = InMemorySpanExporter()
    _converse(_provider(SimpleSpanProcessor(memory)).get_tracer("t"), "Rain?", "No.")
    seen = []
    for exporter_type in (JsonExporter, ProtobufExporter):
        exporter = _exporter(exporter_type, served, user.key)
        assert exporter.export(memory.get_finished_spans()) is SpanExportResult.SUCCESS
        (dataset,) = user.listed()
        seen.append(rows(user, dataset))
    assert len(seen[0]) == 1
    assert seen[0] == seen[1]
    assert user.call("GET", "/traces", 200)["total"] == 1


def test_the_answer_to_protobuf_is_protobuf(user: Any) -> None:
    memory = InMemorySpanExporter()
    tracer = _provider(SimpleSpanProcessor(memory)).get_tracer("t")
    tracer.start_span("GET /").end()
    for rejected in (1, 0):
        reply = user.http.post(
            "/v1/traces",
            content=encode_spans(memory.get_finished_spans()).SerializeToString(),
            headers={"X-Api-Key": user.key, "Content-Type": "application/x-protobuf"},
        )
        assert reply.status_code == 202
        assert reply.headers["content-type"] == "application/x-protobuf"
        answer = ExportTraceServiceResponse.FromString(reply.content)
        assert answer.HasField("partial_success") is bool(rejected)
        assert answer.partial_success.rejected_spans == rejected
        memory.clear()
        _converse(tracer, "Rain?", "No.")


def test_a_bad_key_fails_the_export(served: Any) -> None:
    noting = _Noting(_exporter(ProtobufExporter, served, "zp_no"))
    provider = _provider(SimpleSpanProcessor(noting))
    provider.get_tracer("t").start_span("lonely").end()
    provider.shutdown()
    assert noting.results == [SpanExportResult.FAILURE]
