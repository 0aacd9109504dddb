"""OTLP on the wire: attribute values of the JSON encoding, and the binary protobuf encoding.

Both end in the same plain objects that OTLP/JSON has (`resourceSpans`, `scopeSpans`, `spans`),
with attribute values already plain, so that readers above know one form only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from whileai_core import jsonio

MAX_DEPTH = 200
"""Values nested deeper are kept as text: no reader below needs them as structure."""

_SCALARS = frozenset({"stringValue", "string_value", "boolValue", "bool_value"})
_INTS = frozenset({"intValue", "int_value"})
_DOUBLES = frozenset({"doubleValue", "double_value"})
_ARRAYS = frozenset({"arrayValue", "array_value"})
_MAPS = frozenset({"kvlistValue", "kvlist_value"})
_BYTES = frozenset({"bytesValue", "bytes_value"})
_WRAPPERS = _SCALARS | _INTS | _DOUBLES | _ARRAYS | _MAPS | _BYTES

_BATCH_START = re.compile(rb'\s*\{\s*"resourceSpans"')

Attributes = dict[str, Any]


def starts_batch(text: bytes) -> bool:
    """Tell whether JSON text begins as an OTLP/JSON batch does.

    OTLP/JSON writes 64-bit integers as texts: no number in a batch is too long for any parser.
    """
    return _BATCH_START.match(text) is not None


def attributes_of(raw: object) -> Attributes:
    """Return attributes as a plain object, from a `{key, value}` list or from an object.

    Entries that are neither are passed over. An empty value in a list means "not set".
    """
    if type(raw) is list:
        out: Attributes = {}
        for entry in raw:
            try:
                value = entry["value"]
                out[entry["key"]] = (
                    value["stringValue"] if "stringValue" in value else listed_value(value)
                )
            except (TypeError, KeyError, IndexError):
                _take_odd_entry(entry, out)
        return out
    if isinstance(raw, dict):
        return {str(key): any_value(value) for key, value in raw.items()}
    return {}


def listed_value(value: Any) -> Any:
    """Return the plain value of a `{key, value}` entry; an empty one means "not set"."""
    if "intValue" in value:
        return _int(value["intValue"])
    return any_value(value) if value else None


def _take_odd_entry(entry: Any, out: Attributes) -> None:
    """Take an entry whose value is no wrapper, as flat exports have them."""
    if not isinstance(entry, dict):
        return
    if isinstance(entry.get("key"), str) and "value" in entry:
        out[entry["key"]] = any_value(entry["value"])
    elif isinstance(entry.get("Key"), str) and isinstance(entry.get("Value"), dict):
        out[entry["Key"]] = any_value(entry["Value"].get("Value"))  # as Go prints it


class _TooDeep(Exception):
    """A structure goes deeper than `MAX_DEPTH`."""


def any_value(value: Any) -> Any:
    """Return the plain value behind an OTLP `AnyValue`, at any level of a structure.

    Objects that are no such wrapper stay objects. Numbers that JSON cannot hold become text, and
    so does the whole value when it is nested deeper than `MAX_DEPTH`.
    """
    try:
        return _plain(value, 0)
    except _TooDeep:
        return nested_text(value)


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if value - value == 0 else _non_finite(value)
    if depth > MAX_DEPTH:
        raise _TooDeep
    if isinstance(value, dict):
        if len(value) == 1:
            (name, inner), *_ = value.items()
            if name in _WRAPPERS:
                return _unwrapped(name, inner, depth)
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str | int | float):
        return value
    return str(value)


def _unwrapped(name: str, inner: Any, depth: int) -> Any:
    if name in _SCALARS:
        return _plain(inner, depth + 1)
    if name in _INTS:
        return _int(inner)
    if name in _DOUBLES:
        return _double(inner)
    if name in _BYTES:
        return inner if isinstance(inner, str) else str(inner)
    values = inner.get("values") if isinstance(inner, dict) else inner
    if not isinstance(values, list):
        return [] if name in _ARRAYS else {}
    if name in _ARRAYS:
        return [_plain(item, depth + 1) if item != {} else None for item in values]
    return {
        str(item["key"]): _plain(item["value"], depth + 1) if item.get("value") else None
        for item in values
        if isinstance(item, dict) and "key" in item
    }


def _int(inner: Any) -> Any:
    try:
        return int(inner)
    except (TypeError, ValueError, OverflowError):
        return inner if isinstance(inner, str) else str(inner)


def _double(inner: Any) -> Any:
    try:
        number = float(inner)
    except (TypeError, ValueError):
        return inner if isinstance(inner, str) else str(inner)
    return number if number - number == 0 else _non_finite(number)


def _non_finite(number: float) -> str:
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def nested_text(value: object) -> str:
    """Return a structure of any depth as compact JSON text, without recursion."""
    pieces: list[str] = []
    todo: list[tuple[bool, object]] = [(False, value)]
    while todo:
        literal, item = todo.pop()
        if literal:
            pieces.append(str(item))
        elif isinstance(item, dict):
            todo.append((True, "}"))
            for index, (key, inner) in enumerate(reversed(item.items())):
                lead = "," if index < len(item) - 1 else ""
                todo += [(False, inner), (True, f"{lead}{_scalar_text(str(key))}:")]
            todo.append((True, "{"))
        elif isinstance(item, list | tuple):
            todo.append((True, "]"))
            for index, inner in enumerate(reversed(item)):
                todo += [(False, inner), (True, "," if index < len(item) - 1 else "")]
            todo.append((True, "["))
        else:
            pieces.append(_scalar_text(item))
    return "".join(pieces)


def _scalar_text(value: object) -> str:
    try:
        return jsonio.dumps(value).decode("utf-8")
    except (TypeError, ValueError):
        return jsonio.dumps(str(value).encode("utf-8", "replace").decode("utf-8")).decode("utf-8")


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
    """Read one OTLP traces message, or a stream of them each after its varint length.

    Every message comes as one OTLP/JSON-shaped object with plain attribute values. A message
    that does not decode comes as the `ValueError` that says where; reading goes on after it
    while lengths are still to be trusted.
    """
    whole = _decoded(data, 0, len(data)) if _starts_message(data, 0) else None
    if isinstance(whole, dict):
        yield whole
        return
    at = 0
    while at < len(data):
        length = _varint(data, at)
        if length is None or length[1] + length[0] > len(data):
            yield ValueError(f"OTLP protobuf is cut off or damaged at byte {at}")
            return
        start, at = length[1], length[1] + length[0]
        if length[0]:
            yield _decoded(data, start, at)


def _decoded(data: bytes, start: int, end: int) -> dict[str, Any] | ValueError:
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # no stubs
    from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

    message = TracesData()
    try:
        message.ParseFromString(data[start:end])
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
        return _double(inner)
    if kind == "bytes_value":
        return bytes(inner).decode("utf-8", "backslashreplace")
    if kind == "array_value":
        return [_proto_value(item) for item in inner.values]
    if kind == "kvlist_value":
        return {pair.key: _proto_value(pair.value) for pair in inner.values}
    return inner
