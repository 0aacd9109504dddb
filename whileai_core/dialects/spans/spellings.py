"""One span in any of the spellings in which SDKs and backends print spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.instants import instant, nanoseconds
from whileai_core.dialects.spans.identity import span_id, trace_id
from whileai_core.dialects.spans.openai_agents import agents_span, is_agents_record
from whileai_core.dialects.spans.span import Span, SpanEvent
from whileai_core.sources.otlp import attributes_of

_TRACE_IDS = ("traceId", "trace_id", "traceID", "context.trace_id", "TraceId")
_SPAN_IDS = ("spanId", "span_id", "spanID", "context.span_id", "SpanId")
_PARENT_IDS = (
    "parentSpanId",
    "parent_span_id",
    "parentId",
    "parent_id",
    "parentSpanID",
    "ParentSpanId",
)
_NAMES = ("name", "operationName", "span_name", "spanName", "SpanName", "Name")
_STARTS_NS = ("startTimeUnixNano", "start_time_unix_nano")
_ENDS_NS = ("endTimeUnixNano", "end_time_unix_nano")
_STARTS_MS = ("startedMs", "started_ms", "startTimeMs")
_ENDS_MS = ("endedMs", "ended_ms", "endTimeMs")
_STARTS = (
    "start_time",
    "startTime",
    "start_timestamp",
    "start_time_ns",
    "StartTime",
    "timestamp",
    "Timestamp",
)
_ENDS = ("end_time", "endTime", "end_timestamp", "end_time_ns", "EndTime")
_ATTRIBUTES = ("attributes", "Attributes", "SpanAttributes", "span_attributes")
_EVENTS = ("events", "span_events", "Events", "otel_events")
_MICRO = 1000
_MILLI = 10**6
_NO_TIME = (None, 0, "0", "")


def is_span(value: Mapping[str, Any]) -> bool:
    """Tell whether one object is a span by itself."""
    if is_agents_record(value):
        return True
    context = _context(value)
    if trace_of(value) is None:
        return False
    if any(isinstance(value.get(key), dict | list) for key in _ATTRIBUTES):
        return True
    if _first(context, _SPAN_IDS) is None and _first(value, _SPAN_IDS) is None:
        return _is_zipkin(value) or _is_mlflow_v2(value)
    return (
        isinstance(value.get("tags"), list | dict)
        or any(key.startswith("attributes.") for key in value)
        or (_first(value, _NAMES) is not None and _start(value) != 0)
    )


def trace_of(raw: Mapping[str, Any]) -> Any:
    """Return the trace id of a span as written, or None."""
    found = _first(_context(raw), _TRACE_IDS)
    return _first(raw, _TRACE_IDS) if found is None else found


def otlp_span(raw: dict[str, Any], service: str = "", scope: str = "") -> Span:
    """Read one span as OTLP/JSON writes it; other spellings take the slower way."""
    if "traceId" not in raw or raw.get("startTimeUnixNano") in _NO_TIME:
        span = span_of(raw) or Span(attributes=attributes_of(raw.get("attributes")))
        span.service, span.scope = service, scope
        return span
    failed, message = False, ""
    status = raw.get("status")
    if status:
        failed, message = failure_in(status)
    events = raw.get("events")
    parent = raw.get("parentSpanId")
    return Span(
        trace_id(raw["traceId"]),
        span_id(raw.get("spanId")),
        span_id(parent) if parent else "",
        str(raw.get("name") or ""),
        nanoseconds(raw["startTimeUnixNano"]),
        nanoseconds(raw.get("endTimeUnixNano")),
        attributes_of(raw.get("attributes")),
        _events(events) if events else [],
        failed,
        message,
        service,
        scope,
    )


def span_of(raw: dict[str, Any]) -> Span | None:
    """Read one span in any flat spelling; None when the object is no span at all."""
    if is_agents_record(raw):
        return agents_span(raw)
    context = _context(raw)
    attributes = _attributes(raw)
    trace = trace_of(raw)
    if trace is None and not attributes:
        return None
    identity = _first(context, _SPAN_IDS)
    if identity is None:
        identity = _first(raw, _SPAN_IDS)
    if identity is None and trace is not None:
        identity = raw.get("id")
    failed, message = _status_of(raw)
    resource = raw.get("resource")
    about = raw.get("scope") or raw.get("instrumentation_scope") or raw.get("instrumentationScope")
    return Span(
        trace_id(trace),
        span_id(identity),
        span_id(_parent(raw)),
        str(_first(raw, _NAMES) or ""),
        _start(raw),
        _end(raw),
        attributes,
        _events(_first(raw, _EVENTS) or raw.get("logs") or raw.get("annotations")),
        failed,
        message,
        str(attributes_of(resource.get("attributes")).get("service.name") or "")
        if isinstance(resource, dict)
        else "",
        str(about.get("name") or "") if isinstance(about, dict) else str(about or ""),
    )


def _context(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    for key in ("context", "spanContext", "SpanContext", "span_context"):
        context = raw.get(key)
        if isinstance(context, dict):
            return {_SPELLING.get(str(name), str(name)): item for name, item in context.items()}
    return {}


_SPELLING = {"TraceID": "trace_id", "SpanID": "span_id"}


def _parent(raw: Mapping[str, Any]) -> object:
    parent = _first(raw, _PARENT_IDS)
    if parent is not None:
        return parent
    for key in ("parent", "parentSpanContext", "Parent", "parent_span_context"):
        inner = raw.get(key)
        if isinstance(inner, dict):
            return _first(inner, (*_SPAN_IDS, "SpanID"))
        if isinstance(inner, str):
            return inner
    references = raw.get("references")
    if isinstance(references, list):
        for reference in references:
            if isinstance(reference, dict) and reference.get("refType", "CHILD_OF") == "CHILD_OF":
                return _first(reference, _SPAN_IDS)
    return None


def _first(raw: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = raw.get(key)
        if value is not None and value != "":
            return value
    return None


def _start(raw: Mapping[str, Any]) -> int:
    return _time(raw, _STARTS_NS, _STARTS_MS, _STARTS)


def _end(raw: Mapping[str, Any]) -> int:
    end = _time(raw, _ENDS_NS, _ENDS_MS, _ENDS)
    duration = raw.get("duration")
    if end == 0 and type(duration) is int:
        start = _start(raw)
        return start + duration * _MICRO if start else 0
    return end


def _time(
    raw: Mapping[str, Any], nano: tuple[str, ...], milli: tuple[str, ...], other: tuple[str, ...]
) -> int:
    for keys, read in ((nano, nanoseconds), (milli, _milliseconds), (other, instant)):
        for key in keys:
            time = read(raw.get(key))
            if time > 0:
                return time
    return 0


def _milliseconds(value: object) -> int:
    """Return a point in time given in milliseconds; one with a date in it says so itself."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0
    try:
        return int(value) * _MILLI
    except (ValueError, OverflowError):
        pass
    try:
        return int(float(value) * _MILLI)
    except (ValueError, OverflowError):
        return instant(value)


def _attributes(raw: Mapping[str, Any]) -> dict[str, Any]:
    found = _first(raw, _ATTRIBUTES)
    if isinstance(found, str) and found.lstrip().startswith("{"):
        try:
            found = jsonio.loads(found)
        except ValueError:
            found = None
    if found is None:
        found = raw.get("tags")
        if isinstance(found, list):
            return {
                str(tag["key"]): tag.get("value")
                for tag in found
                if isinstance(tag, dict) and "key" in tag
            }
    attributes = _flattened(attributes_of(found))
    for key, value in raw.items():
        if key.startswith("attributes.") and value is not None:
            attributes.update(_flattened(attributes_of({key[11:]: value})))
    return attributes


_NAMESPACES = frozenset(
    {"llm", "input", "output", "openinference", "tool", "session", "gen_ai", "ai", "traceloop"}
    | {"langfuse", "langsmith", "mlflow", "agent", "user", "exception", "conversation", "error"}
)


def _flattened(attributes: dict[str, Any]) -> dict[str, Any]:
    """Give nested attribute objects their dotted names too, as backends that unflatten need."""
    if not any(key in _NAMESPACES and type(attributes[key]) is dict for key in attributes):
        return attributes
    out: dict[str, Any] = {}
    for key, value in attributes.items():
        if key in _NAMESPACES and type(value) is dict:
            _flatten(key, value, out, 0)
        else:
            out[key] = value
    return out


def _flatten(prefix: str, value: dict[str, Any], out: dict[str, Any], depth: int) -> None:
    for key, inner in value.items():
        name = f"{prefix}.{key}"
        out.setdefault(name, inner)
        if type(inner) is dict and depth < 4:
            _flatten(name, inner, out, depth + 1)


def _events(raw: object) -> list[SpanEvent]:
    if not isinstance(raw, list):
        return []
    out = []
    for event in raw:
        if not isinstance(event, dict):
            continue
        fields = event.get("fields")  # Jaeger logs
        attributes = (
            {str(f.get("key")): f.get("value") for f in fields if isinstance(f, dict)}
            if isinstance(fields, list)
            else attributes_of(_first(event, _ATTRIBUTES) or event.get("event_attributes"))
        )
        name = _first(event, ("name", "event_name", "eventName", "Name", "value"))
        out.append(SpanEvent(str(name or attributes.get("event") or ""), attributes))
    return out


_ERRORS = frozenset({"2", "error", "status_code_error", "statuscode.error"})


def failure_in(raw: object) -> tuple[bool, str]:
    """Return whether a status, in any spelling, says error, and its text."""
    if isinstance(raw, dict):
        code = _first(raw, ("code", "status_code", "statusCode", "Code"))
        message = _first(raw, ("message", "description", "Description"))
        return str(code).strip().lower() in _ERRORS, str(message or "")
    return str(raw).strip().lower() in _ERRORS, ""


def _status_of(raw: Mapping[str, Any]) -> tuple[bool, str]:
    failed, message = failure_in(_first(raw, ("status", "Status")))
    code = _first(raw, ("status_code", "statusCode", "otel_status_code", "StatusCode"))
    if code is not None:
        failed = failed or str(code).strip().lower() in _ERRORS
    message = message or str(
        _first(raw, ("status_message", "statusMessage", "otel_status_message", "StatusMessage"))
        or ""
    )
    tags = raw.get("tags")
    if isinstance(tags, list):
        tags = {t.get("key"): t.get("value") for t in tags if isinstance(t, dict)}
    if isinstance(tags, dict):
        status = str(tags.get("otel.status_code") or tags.get("error") or "").lower()
        failed = failed or status in ("error", "true")
        message = message or str(tags.get("otel.status_description") or "")
    return failed, message


def _is_zipkin(raw: Mapping[str, Any]) -> bool:
    return "traceId" in raw and "id" in raw and isinstance(raw.get("timestamp"), int)


def _is_mlflow_v2(raw: Mapping[str, Any]) -> bool:
    return isinstance(raw.get("attributes"), dict) and "start_time_ns" in raw
