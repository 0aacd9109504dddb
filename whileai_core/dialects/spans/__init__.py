"""Spans of every producer to rows, one row per conversation."""

from __future__ import annotations

from whileai_core.dialects.spans.assemble import (
    Collector,
    carries_content,
    rows_from_spans,
)
from whileai_core.dialects.spans.links import conversation_of, link_of
from whileai_core.dialects.spans.payloads import is_span_payload, spans_in
from whileai_core.dialects.spans.span import Span, SpanEvent
from whileai_core.dialects.spans.unmapped import unmapped_attributes

__all__ = [
    "Collector",
    "Span",
    "SpanEvent",
    "carries_content",
    "conversation_of",
    "is_span_payload",
    "link_of",
    "rows_from_spans",
    "spans_in",
    "unmapped_attributes",
]
