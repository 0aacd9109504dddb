"""OTLP's binary encoding, to the objects that OTLP/JSON has.

`resourceSpans`, `scopeSpans` and `spans` come with attribute values already plain, so that
readers above know one form only.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from whileai_core.sources.compression import BrokenStream
from whileai_core.sources.otlp import double_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.sources.compression import ByteStream
    from whileai_core.sources.otlp import Attributes

_CHUNK = 256 * 1024
_LONGEST_VARINT = 10


def looks_like_otlp_protobuf(head: bytes) -> bool:
    """Tell OTLP protobuf from text by its first bytes: one message, or a length-delimited stream.

    A traces message starts with field 1 (byte 0x0A), its length, then again field 1 or 2 of
    `ResourceSpans`. In a stream a varint length comes first.
    """
    return _starts_message(head, 0) or (
        (first := _varint(head, 0)) is not None
        and first[0] > 2
        and _starts_message(head, first[1], size=first[0])
    )


def _starts_message(data: bytes, at: int, size: int | None = None) -> bool:
    if at >= len(data) or data[at] != 0x0A:
        return False
    length = _varint(data, at + 1)
    if length is None or length[1] >= len(data):
        return False
    if size is not None and length[0] + (length[1] - at) > size:
        return False
    # ResourceSpans: resource = 1 (0x0A), scope_spans = 2 (0x12), both length-delimited.
    inner = data[length[1]]
    return inner in (0x0A, 0x12) and _varint(data, length[1] + 1) is not None and length[0] > 2


def _varint(data: bytes, at: int) -> tuple[int, int] | None:
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    return None


def protobuf_batches(data: bytes) -> Iterator[dict[str, Any] | ValueError]:
    """Read the messages in some bytes as `stream_batches` does."""
    return stream_batches(io.BytesIO(data), longest=len(data))


def stream_batches(stream: ByteStream, *, longest: int) -> Iterator[dict[str, Any] | ValueError]:
    """Read one OTLP traces message, or many each after its varint length, one at a time.

    Every message comes as one OTLP/JSON-shaped object with plain attribute values. A message
    that does not decode comes as the `ValueError` that says where; reading goes on after it
    while lengths are still to be trusted. No more than one message is held.

    Raises:
        BrokenStream: The stream breaks, or a message has more than `longest` bytes.
    """
    window = _Window(stream)
    if _starts_message(window.head, 0):
        yield _decoded(window.read(longest + 1), 0, longest)
        return
    while True:
        before = window.offset
        size = window.read_varint()
        if size is None and window.offset == before:
            return
        start = window.offset
        data = b"" if size is None else window.read(size if size <= longest else longest + 1)
        if size is None or len(data) < min(size, longest + 1):
            yield ValueError(f"OTLP protobuf is cut off or damaged at byte {before}")
            return
        if data:
            yield _decoded(data, start, longest)


class _Window:
    """The bytes of a stream from where it stands."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.head = self._ahead = stream.read1(_CHUNK)
        self._at = 0
        self.offset = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes; fewer than asked for at the end of the stream."""
        data = self._ahead[self._at : self._at + size]
        self._at += len(data)
        pieces, missing = [data], size - len(data)
        while missing > 0:
            self._ahead, self._at = self._stream.read1(_CHUNK), 0
            if not self._ahead:
                break
            piece = self._ahead[:missing]
            self._at = len(piece)
            missing -= len(piece)
            pieces.append(piece)
        self.offset += size - missing
        return data if len(pieces) == 1 else b"".join(pieces)

    def read_varint(self) -> int | None:
        """Return the next varint; None when there is none, or no whole one."""
        value = 0
        for place in range(_LONGEST_VARINT):
            byte = self.read(1)
            if not byte:
                return None
            value |= (byte[0] & 0x7F) << (7 * place)
            if byte[0] < 0x80:
                return value
        return None


def _decoded(data: bytes, start: int, longest: int) -> dict[str, Any] | ValueError:
    if len(data) > longest:
        raise BrokenStream("too_large", f"one message of more than {longest} bytes")
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # no stubs
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    message = TracesData()
    try:
        message.ParseFromString(data)
    except DecodeError as error:
        return ValueError(f"OTLP protobuf message at byte {start} does not decode: {error}")
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _key_values(resource.resource.attributes)},
                "scopeSpans": [
                    {
                        "scope": {"name": scope.scope.name, "version": scope.scope.version},
                        "spans": [_span(span) for span in scope.spans],
                    }
                    for scope in resource.scope_spans
                ],
            }
            for resource in message.resource_spans
        ]
    }


def _span(span: Any) -> dict[str, Any]:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_span_id.hex(),
        "name": span.name,
        "startTimeUnixNano": span.start_time_unix_nano,
        "endTimeUnixNano": span.end_time_unix_nano,
        "attributes": _key_values(span.attributes),
        "events": [
            {
                "name": event.name,
                "timeUnixNano": event.time_unix_nano,
                "attributes": _key_values(event.attributes),
            }
            for event in span.events
        ],
        "status": {"code": int(span.status.code), "message": span.status.message},
    }


def _key_values(pairs: Iterable[Any]) -> Attributes:
    return {pair.key: _proto_value(pair.value) for pair in pairs}


def _proto_value(value: Any) -> Any:
    # protobuf itself refuses messages nested deeper than 100.
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    inner = getattr(value, kind)
    if kind == "double_value":
        return double_value(inner)
    if kind == "bytes_value":
        return bytes(inner).decode("utf-8", "backslashreplace")
    if kind == "array_value":
        return [_proto_value(item) for item in inner.values]
    if kind == "kvlist_value":
        return {pair.key: _proto_value(pair.value) for pair in inner.values}
    return inner
