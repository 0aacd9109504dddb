"""What ties a span to others, found without reading the rest of it."""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.spans.grouping import conversation_id
from whileai_core.dialects.spans.reader import read
from whileai_core.dialects.spans.slots import CONVERSATION_KEYS, UNSURE_CONVERSATION_KEYS
from whileai_core.dialects.spans.span import Span


def conversation_of(span: Span) -> str | None:
    """Return the conversation id a span carries itself, or None."""
    return _conversation_in(span.attributes)


def link_of(stored: dict[str, Any]) -> tuple[str, str]:
    """Return trace id and conversation id of a span as `Span.to_json` wrote it; "" is none."""
    return stored.get("trace_id", ""), _conversation_in(stored.get("attributes", {})) or ""


def _conversation_in(attributes: dict[str, Any]) -> str | None:
    for key in UNSURE_CONVERSATION_KEYS:
        if key in attributes:
            return conversation_id(read(Span(attributes=attributes)).conversation)
    for key in CONVERSATION_KEYS:
        value = attributes.get(key)
        if value is not None and value != "":
            return conversation_id(value)
    return None
