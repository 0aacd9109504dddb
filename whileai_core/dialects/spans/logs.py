"""Log records that carry a conversation: the events of GenAI spans, exported as OTLP logs.

Instrumentors can write messages to log records instead of spans. Such a record becomes a span of
its own inside the span it belongs to, so that it is put in order, delivered twice and assembled
as all spans are, also when the span itself lies in another file or was never exported.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.instants import nanoseconds
from whileai_core.dialects.spans.identity import span_id, trace_id
from whileai_core.dialects.spans.slots import EVENT_READERS
from whileai_core.dialects.spans.span import Span, SpanEvent
from whileai_core.sources.otlp import any_value, attributes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = ("eventName", "event_name")
_NAME_ATTRIBUTE = "event.name"
_TIMES = ("timeUnixNano", "time_unix_nano", "observedTimeUnixNano", "observed_time_unix_nano")
_DETAILS = "gen_ai.client.inference.operation.details"
_OPERATION = "gen_ai.operation.name"


def log_spans(records: list[Any], service: str, scope: str) -> Iterator[Span | None]:
    """Yield a span for each record, or for those of one span that follow each other.

    None stands for a record that is no part of a conversation.

    Args:
        records: Log records as OTLP/JSON writes them.
        service: `service.name` of the resource.
        scope: Name of the instrumentation scope.

    Raises:
        TypeError: A record is no object, or one of its fields is none that can be read.
        ValueError: Likewise.
    """
    last: Span | None = None
    for record in records:
        span = _span_of(record, service, scope)
        if span is None:
            yield None
        elif last is not None and _goes_on(last, span):
            last.events += span.events
            last.end_ns = span.end_ns
        else:
            if last is not None:
                yield _named(last)
            last = span
    if last is not None:
        yield _named(last)


def _span_of(record: Any, service: str, scope: str) -> Span | None:
    attributes = attributes_of(record.get("attributes"))
    name = str(_first(record, _NAMES) or attributes.pop(_NAME_ATTRIBUTE, None) or "")
    if name not in EVENT_READERS:
        return None
    body = any_value(record.get("body"))
    if name == _DETAILS:  # which says all of it in attributes
        events = []
        attributes |= body if isinstance(body, dict) else {}
    else:
        said = body if isinstance(body, dict) else {"content": body} if body else {}
        events = [SpanEvent(name, {**attributes, **said})]
    time = next((at for key in _TIMES if (at := nanoseconds(record.get(key) or 0))), 0)
    return Span(
        trace_id(_first(record, ("traceId", "trace_id"))),
        "",
        span_id(_first(record, ("spanId", "span_id"))),
        name,
        time,
        time,
        {_OPERATION: "chat", **attributes},
        events,
        service=service,
        scope=scope,
    )


def _goes_on(last: Span, span: Span) -> bool:
    return (
        bool(span.parent_id and span.events)
        and (span.trace_id, span.parent_id) == (last.trace_id, last.parent_id)
        and span.attributes == last.attributes
    )


def _named(span: Span) -> Span:
    """Give a span an id by what it says: delivered again it is the same one."""
    content = jsonio.text(jsonio.strict(span.to_json()))
    span.span_id = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:16]
    return span


def _first(record: dict[str, Any], keys: tuple[str, ...]) -> Any:
    return next((record[key] for key in keys if record.get(key)), None)
