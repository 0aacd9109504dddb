"""OTLP protobuf, one message or a stream of them, and attribute values of both encodings."""

from __future__ import annotations

import io
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.reading import SpanItem, read_items
from whileai_core.sources.items import Reject
from whileai_core.sources.limits import Limits
from whileai_core.sources.otlp import any_value, attributes_of, nested_text
from whileai_core.sources.otlp_protobuf import (
    looks_like_otlp_protobuf,
    protobuf_batches,
    stream_batches,
)


def message(trace: int, prompt: str) -> bytes:
    request = ExportTraceServiceRequest()
    resource = request.resource_spans.add()
    resource.resource.attributes.add(key="service.name").value.string_value = "desk"
    span = resource.scope_spans.add().spans.add(name="chat", start_time_unix_nano=5)
    span.trace_id = bytes([trace]) * 16
    span.span_id = bytes([trace]) * 8
    span.attributes.add(key="gen_ai.prompt").value.string_value = prompt
    call = span.attributes.add(key="extra").value.kvlist_value.values.add(key="n")
    call.value.int_value = 2**62
    span.attributes.add(key="nothing")
    span.events.add(name="e").attributes.add(key="x").value.double_value = float("nan")
    span.status.code = 2
    return request.SerializeToString()


def delimited(*messages: bytes) -> bytes:
    out = b""
    for body in messages:
        size = len(body)
        while size > 0x7F:
            out += bytes([size & 0x7F | 0x80])
            size >>= 7
        out += bytes([size]) + body
    return out


def test_a_message_has_the_shape_of_its_json() -> None:
    [batch] = protobuf_batches(message(7, "hi"))
    assert isinstance(batch, dict)
    [resource] = batch["resourceSpans"]
    assert resource["resource"]["attributes"] == {"service.name": "desk"}
    [span] = resource["scopeSpans"][0]["spans"]
    assert span["traceId"] == "07" * 16
    assert attributes_of(span["attributes"])["extra"] == {"n": 2**62}
    assert span["events"] == [{"name": "e", "timeUnixNano": 0, "attributes": {"x": "NaN"}}]
    assert span["status"]["code"] == 2


@pytest.mark.parametrize("size", [1, 130, 20_000])
def test_one_message_and_a_stream_are_told_apart_and_read(size: int, tmp_path: Any) -> None:
    single = message(1, "a" * size)
    stream = delimited(single, message(2, "b"), b"", message(3, "c"))
    for data, prompts in ((single, ["a" * size]), (stream, ["a" * size, "b", "c"])):
        assert looks_like_otlp_protobuf(data[:64])
        assert [row["prompt"] for row in rows_from_otel(data)] == prompts
        (tmp_path / "spans.pb").write_bytes(data)
        assert [row["prompt"] for row in rows_from_otel(tmp_path / "spans.pb")] == prompts


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_message_costs_only_itself() -> None:
    good, other = message(1, "a"), message(2, "b")
    broken = good[:-3] + b"\xff\xff\xff"
    assert [row["prompt"] for row in rows_from_otel(delimited(good, broken, other))] == ["a", "b"]
    cut = delimited(good, other)[:-4]
    pieces = list(protobuf_batches(cut))
    assert [type(piece) for piece in pieces] == [dict, ValueError]
    assert "cut off" in str(pieces[1])


class Counting(io.BytesIO):
    """A file that gives little at a time and knows how much it gave."""

    given = 0

    def read1(self, size: int | None = -1, /) -> bytes:
        data = super().read1(min(1000, size if size and size > 0 else 1000))
        self.given += len(data)
        return data


def test_a_stream_is_read_as_far_as_its_messages_are_asked_for() -> None:
    stream = Counting(delimited(*(message(n % 200 + 1, "a" * 5000) for n in range(400))))
    batches = stream_batches(stream, longest=10_000)
    assert [type(next(batches)) for _ in range(10)] == [dict] * 10
    assert stream.given < 100_000
    assert len(list(batches)) == 390


def test_a_message_past_the_limit_is_named_and_not_held() -> None:
    limits = Limits(record_bytes=1000)
    big, small = message(1, "a" * 5000), message(2, "b")
    for data, spans in ((delimited(small, big), 1), (big, 0)):
        items = list(read_items(data, limits=limits))
        assert [type(item) for item in items] == [SpanItem] * spans + [Reject]
        assert isinstance(items[-1], Reject)
        assert items[-1].reason == "too_large"


@pytest.mark.parametrize(
    "text", [b"", b'{"a": 1}', b"[1]", b"\n\n{}", b"plain text", b"\x0a", b"\x1f\x8b\x08"]
)
def test_texts_and_packed_files_are_no_protobuf(text: bytes) -> None:
    assert not looks_like_otlp_protobuf(text)


def test_values_of_unknown_make_stay_as_plain_as_they_can() -> None:
    assert any_value({"intValue": "many"}) == "many"
    assert any_value({"stringValue": "a", "other": 1}) == {"stringValue": "a", "other": 1}
    assert any_value({"arrayValue": None}) == []
    assert any_value(float("inf")) == "Infinity"
    assert attributes_of([{"key": "a", "value": {}}, {"key": 3}, None]) == {"a": None}
    assert nested_text({"a": [1, {"b": "\ud800"}], "c": {}}) == '{"a":[1,{"b":"?"}],"c":{}}'
