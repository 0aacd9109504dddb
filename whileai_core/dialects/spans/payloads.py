"""Every form in which producers hand spans over, to `Span`.

OTLP/JSON batches (camel and snake case, today's and the older field names), lists of them,
Jaeger and Zipkin documents, MLflow traces, and flat lists of spans as SDKs and backends print
them. A piece that cannot be read becomes a `Reject` of its own; the pieces around it stay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.spans.identity import instant, nanoseconds, span_id, trace_id
from whileai_core.dialects.spans.span import Span, SpanEvent
from whileai_core.sources.items import Ignored, Origin, Reject
from whileai_core.sources.otlp import attributes_of, nested_text

_RESOURCE_SPANS = ("resourceSpans", "resource_spans", "batches")
_SCOPE_SPANS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)
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
_NAMES = ("name", "operationName", "span_name", "spanName", "SpanName")
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
_RAW_CHARACTERS = 100_000
_MICRO = 1000
_MILLI = 10**6


def is_span_payload(value: object) -> bool:
    """Tell whether a parsed value holds spans, by a cheap look at its keys."""
    if isinstance(value, list | tuple):
        first = next((item for item in value[:20] if isinstance(item, dict)), None)
        return first is not None and is_span_payload(first)
    if not isinstance(value, dict):
        return False
    return _is_container(value) or is_span(value)


def is_span(value: Mapping[str, Any]) -> bool:
    """Tell whether one object is a span by itself."""
    context = _context(value)
    if _first(context, _TRACE_IDS) is None and _first(value, _TRACE_IDS) is None:
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


def _is_container(value: Mapping[str, Any]) -> bool:
    if any(isinstance(value.get(key), list) for key in _SCOPE_SPANS):
        return True
    if any(isinstance(value.get(key), list) for key in ("resourceSpans", "resource_spans")):
        return True
    if isinstance(value.get("batches"), list):
        return any(
            isinstance(batch, dict) and any(key in batch for key in _SCOPE_SPANS)
            for batch in value["batches"][:20]
        )
    if isinstance(value.get("trace"), dict):
        return _is_container(value["trace"])
    if isinstance(value.get("data"), list):
        return any(
            isinstance(trace, dict) and isinstance(trace.get("spans"), list)
            for trace in value["data"][:20]
        )
    if isinstance(value.get("data"), dict) and isinstance(value.get("info"), dict):
        return isinstance(value["data"].get("spans"), list)
    spans = value.get("spans")
    if isinstance(spans, list):
        return not spans or any(isinstance(span, dict) and is_span(span) for span in spans[:20])
    return False


def spans_in(value: object, origin: Origin) -> Iterator[Span | Reject | Ignored]:
    """Give every span of one parsed value, in its order; pieces that are none are accounted for.

    All spans come out, those without conversation content too: they hold the tree together
    (see `carries_content`).
    """
    yield from _walk(value, origin, "", 0)


def _walk(
    value: object, origin: Origin, service: str, depth: int
) -> Iterator[Span | Reject | Ignored]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, origin, service, depth + 1) if depth < 4 else ()
        return
    if not isinstance(value, dict):
        if value is not None:
            yield _reject("not_a_span", "expected a span or a batch of spans", value, origin)
        return
    nested = _nested(value)
    if nested is not None:
        for part in nested:
            yield from _walk(part, origin, service, depth + 1) if depth < 8 else ()
        return
    for key in _SCOPE_SPANS:
        if isinstance(value.get(key), list) and value[key]:
            yield from _resource(value, value[key], origin)
            return
    if any(key in value for key in _SCOPE_SPANS):
        return
    try:
        span = span_of(value)
    except (TypeError, ValueError, AttributeError, RecursionError, OverflowError) as error:
        yield _reject("bad_span", f"the span cannot be read: {error}", value, origin)
        return
    if span is None:
        yield _reject("not_a_span", "an object without trace id and attributes", value, origin)
        return
    if service and not span.service:
        span.service = service
    yield span


def _nested(value: dict[str, Any]) -> list[Any] | None:
    """Return the parts of a container; None when the value is no container."""
    for key in _RESOURCE_SPANS:
        parts = value.get(key)
        if isinstance(parts, list) and (parts or key in value):
            return parts
    if isinstance(value.get("trace"), dict) and _is_container(value["trace"]):
        return [value["trace"]]
    data = value.get("data")
    if isinstance(data, list) and any(isinstance(t, dict) and "spans" in t for t in data[:20]):
        return data
    if isinstance(data, dict) and isinstance(data.get("spans"), list) and "info" in value:
        return _mlflow_spans(value["info"], data["spans"])
    spans = value.get("spans")
    if isinstance(spans, list) and not any(key in value for key in _SCOPE_SPANS):
        return _jaeger_spans(value, spans) if "processes" in value else spans
    return None


def _resource(
    value: dict[str, Any], scopes: list[Any], origin: Origin
) -> Iterator[Span | Reject | Ignored]:
    resource = value.get("resource")
    service = ""
    if isinstance(resource, dict):
        service = str(attributes_of(resource.get("attributes")).get("service.name") or "")
    for scope in scopes:
        if not isinstance(scope, dict):
            if scope is not None:
                yield _reject("not_a_span", "expected the spans of one scope", scope, origin)
            continue
        about = scope.get("scope") or scope.get("instrumentationLibrary")
        name = str(about.get("name") or "") if isinstance(about, dict) else ""
        spans = scope.get("spans")
        for raw in spans if isinstance(spans, list) else ():
            if type(raw) is not dict:
                if raw is not None:
                    yield _reject("not_a_span", "expected a span object", raw, origin)
                continue
            try:
                yield otlp_span(raw, service, name)
            except (TypeError, ValueError, AttributeError, RecursionError) as error:
                yield _reject("bad_span", f"the span cannot be read: {error}", raw, origin)


def otlp_span(raw: dict[str, Any], service: str = "", scope: str = "") -> Span:
    """Read one span as OTLP/JSON writes it; other spellings take the slower way."""
    if "traceId" not in raw or "startTimeUnixNano" not in raw:
        span = span_of(raw) or Span(attributes=attributes_of(raw.get("attributes")))
        span.service, span.scope = service, scope
        return span
    failed, message = False, ""
    status = raw.get("status")
    if status:
        failed, message = _status(status)
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
    context = _context(raw)
    attributes = _attributes(raw)
    trace = _first(context, _TRACE_IDS)
    if trace is None:
        trace = _first(raw, _TRACE_IDS)
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
    for key in nano:
        value = raw.get(key)
        if value is not None and value != "":
            return max(0, nanoseconds(value))
    for key in milli:
        value = raw.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value * _MILLI) if value - value == 0 else 0
    for key in other:
        value = raw.get(key)
        if value is not None and value != "":
            return max(instant(value), 0)
    return 0


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


def _status(raw: object) -> tuple[bool, str]:
    if isinstance(raw, dict):
        code = _first(raw, ("code", "status_code", "statusCode", "Code"))
        message = _first(raw, ("message", "description", "Description"))
        return str(code).strip().lower() in _ERRORS, str(message or "")
    return str(raw).strip().lower() in _ERRORS, ""


def _status_of(raw: Mapping[str, Any]) -> tuple[bool, str]:
    failed, message = _status(raw.get("status"))
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


def _mlflow_spans(info: Any, spans: list[Any]) -> list[Any]:
    """Give MLflow's spans the conversation their trace belongs to."""
    if not isinstance(info, dict):
        return spans
    metadata = info.get("trace_metadata") or info.get("request_metadata") or {}
    session = metadata.get("mlflow.trace.session") if isinstance(metadata, dict) else None
    trace = _first(info, ("trace_id", "request_id"))
    out: list[Any] = []
    for span in spans:
        if isinstance(span, dict):
            known = _first(_context(span), _TRACE_IDS) or _first(span, _TRACE_IDS)
            span = span if known else {**span, "trace_id": trace}
            if session and isinstance(span.get("attributes"), dict):
                attributes = {"mlflow.trace.session": session, **span["attributes"]}
                span = {**span, "attributes": attributes}
        out.append(span)
    return out


def _jaeger_spans(trace: dict[str, Any], spans: list[Any]) -> list[Any]:
    """Give Jaeger's spans the times in the unit and the resource in the place others have them."""
    processes = trace.get("processes")
    out: list[Any] = []
    for span in spans:
        if isinstance(span, dict) and type(span.get("startTime")) is int:
            start, duration = span["startTime"], span.get("duration")
            end = start + duration if type(duration) is int else start
            process = processes.get(span.get("processID")) if isinstance(processes, dict) else None
            service = process.get("serviceName") if isinstance(process, dict) else None
            span = {
                **span,
                "startTimeUnixNano": start * _MICRO,
                "endTimeUnixNano": end * _MICRO,
                "resource": {"attributes": {"service.name": service}},
            }
        out.append(span)
    return out


def _reject(reason: str, detail: str, raw: object, origin: Origin) -> Reject:
    return Reject(reason, detail, origin, nested_text(raw)[:_RAW_CHARACTERS])
