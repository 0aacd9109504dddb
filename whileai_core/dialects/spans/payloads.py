"""Every form in which producers hand spans, and logs about them, over, to `Span`.

OTLP/JSON batches (camel and snake case, today's and the older field names), lists of them,
Jaeger and Zipkin documents, MLflow traces, and flat lists of spans as SDKs and backends print
them. A piece that cannot be read becomes a `Reject` of its own; the pieces around it stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from whileai_core.dialects.spans.logs import log_spans
from whileai_core.dialects.spans.span import Span
from whileai_core.dialects.spans.spellings import is_span, otlp_span, span_of, trace_of
from whileai_core.sources.items import Ignored, Origin, Reject
from whileai_core.sources.limits import RAW_CHARACTERS
from whileai_core.sources.otlp import attributes_of, nested_text

_RESOURCES = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
_RESOURCE_SPANS = (*_RESOURCES, "batches")
_SCOPE_SPANS = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
    "scopeLogs",
    "scope_logs",
)
_LOG_RECORDS = ("logRecords", "log_records")
_SCOPES = ("scope", "instrumentationLibrary", "instrumentation_library")
_LOOKED_AT = 20  # items of a list that decide what it is
_DEEPEST = 8  # containers in containers
_MICRO = 1000

_Pieces = Iterator[Span | Reject | Ignored]
_Others = Callable[[list[Any]], Iterator[Any]]


def is_span_payload(value: object) -> bool:
    """Tell whether a parsed value holds spans, by a cheap look at its keys."""
    if isinstance(value, list | tuple):
        first = next((item for item in value[:_LOOKED_AT] if isinstance(item, dict)), None)
        return first is not None and is_span_payload(first)
    return isinstance(value, dict) and (_is_container(value) or is_span(value))


def _is_container(value: dict[str, Any]) -> bool:
    if _listed(value, (*_SCOPE_SPANS, *_RESOURCES)) is not None:
        return True
    data = value.get("data")
    if isinstance(data, dict):
        return isinstance(value.get("info"), dict) and isinstance(data.get("spans"), list)
    for key, is_part in (
        ("batches", lambda part: _listed(part, _SCOPE_SPANS) is not None),
        ("data", lambda part: isinstance(part.get("spans"), list)),
        ("spans", is_span),
    ):
        parts = value.get(key)
        if isinstance(parts, list) and any(
            isinstance(part, dict) and is_part(part) for part in parts[:_LOOKED_AT]
        ):
            return True
    return isinstance(value.get("trace"), dict) and _is_container(value["trace"])


def _listed(value: dict[str, Any], keys: tuple[str, ...]) -> list[Any] | None:
    """Return the first of these keys that holds a list, a list with something in it if any does.

    An object is a list of one: converters from XML and the like write it so.
    """
    found = None
    for key in keys:
        items = value.get(key)
        if isinstance(items, dict) and items:
            return [items]
        if isinstance(items, list):
            if items:
                return items
            found = items
    return found


def spans_in(
    value: object, origin: Origin, others_in: _Others | None = None
) -> Iterator[Span | Reject | Ignored]:
    """Give every span of one parsed value, in its order; pieces that are none are accounted for.

    All spans come out, those without conversation content too: they hold the tree together
    (see `carries_content`).

    Args:
        value: One span, or spans in any container.
        origin: Where the value stood.
        others_in: Is shown each list of spans of an OTLP batch, to take some and yield the others.
    """
    return _walk(value, origin, others_in, 0)


def _walk(value: object, origin: Origin, others_in: _Others | None, depth: int) -> _Pieces:
    if value is None:
        return
    if depth > _DEEPEST:
        yield _reject("too_deep", "containers of spans in one another", value, origin)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, origin, others_in, depth + 1)
    elif not isinstance(value, dict):
        yield _reject("not_a_span", "expected a span or a batch of spans", value, origin)
    elif (parts := _parts(value)) is not None:
        for part in parts:
            yield from _walk(part, origin, others_in, depth + 1)
    elif (scopes := _listed(value, _SCOPE_SPANS)) is not None:
        yield from _resource(value, scopes, origin, others_in)
    elif any(key in value for key in (*_SCOPE_SPANS, *_RESOURCE_SPANS)):
        yield Ignored("no_spans", origin)
    else:
        yield _one_span(value, origin)


def _parts(value: dict[str, Any]) -> list[Any] | None:
    """Return the parts of a container of batches or flat spans; None when it is none."""
    parts = _listed(value, _RESOURCE_SPANS)
    if parts is not None:
        return parts
    if isinstance(value.get("trace"), dict) and _is_container(value["trace"]):
        return [value["trace"]]
    data = value.get("data")
    if isinstance(data, dict) and isinstance(data.get("spans"), list) and "info" in value:
        return _mlflow_spans(value["info"], data["spans"])
    if isinstance(data, list) and _is_container(value):
        return data
    spans = value.get("spans")
    if isinstance(spans, list):
        return _jaeger_spans(value, spans) if "processes" in value else spans
    return None


def _resource(
    value: dict[str, Any], scopes: list[Any], origin: Origin, others_in: _Others | None
) -> _Pieces:
    resource = value.get("resource")
    about = attributes_of(resource.get("attributes")) if isinstance(resource, dict) else {}
    service = str(about.get("service.name") or "")
    for scope in scopes:
        if not isinstance(scope, dict):
            if scope is not None:
                yield _reject("not_a_span", "expected the spans of one scope", scope, origin)
            continue
        names = (found.get("name") for key in _SCOPES if isinstance(found := scope.get(key), dict))
        name = str(next(names, None) or "")
        if (records := _listed(scope, _LOG_RECORDS)) is not None:
            yield from _log_records(records, service, name, origin)
            continue
        spans = scope.get("spans")
        found = spans if isinstance(spans, list) else [spans]
        for raw in found if others_in is None else others_in(found):
            if type(raw) is dict:
                try:
                    yield otlp_span(raw, service, name)
                except (TypeError, ValueError, AttributeError, OverflowError) as error:
                    yield _reject("bad_span", f"the span cannot be read: {error}", raw, origin)
            elif raw is not None:
                yield _reject("not_a_span", "expected a span object", raw, origin)


def _log_records(records: list[Any], service: str, scope: str, origin: Origin) -> _Pieces:
    """Give those log records that are events of a conversation."""
    good = [record for record in records if isinstance(record, dict)]
    for record in records:
        if record is not None and not isinstance(record, dict):
            yield _reject("not_a_span", "expected a log record object", record, origin)
    for span in log_spans(good, service, scope):
        yield Ignored("no_conversation", origin) if span is None else span


def _one_span(value: dict[str, Any], origin: Origin) -> Span | Reject:
    try:
        span = span_of(value)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        return _reject("bad_span", f"the span cannot be read: {error}", value, origin)
    if span is None:
        return _reject("not_a_span", "an object without trace id and attributes", value, origin)
    return span


def _mlflow_spans(info: Any, spans: list[Any]) -> list[Any]:
    """Give MLflow's spans the conversation their trace belongs to."""
    if not isinstance(info, dict):
        return spans
    metadata = info.get("trace_metadata") or info.get("request_metadata")
    session = metadata.get("mlflow.trace.session") if isinstance(metadata, dict) else None
    trace = info.get("trace_id") or info.get("request_id")
    out: list[Any] = []
    for span in spans:
        if isinstance(span, dict):
            span = span if trace_of(span) is not None else {**span, "trace_id": trace}
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
    return Reject(reason, detail, origin, nested_text(raw)[:RAW_CHARACTERS])
