"""Parts of OpenTelemetry's GenAI messages: `tool_call` and `tool_call_response`.

LangChain's standard content blocks and Azure's evaluation messages use the same type names
with `args` or `tool_call_id`, so those spellings are read here too.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)

_CALLS = frozenset({"tool_call", "server_tool_call"})
_RESPONSES = frozenset({"tool_call_response", "server_tool_call_response"})
_IDS = ("id", "tool_call_id", "call_id")


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one part says, or None when it is not of this shape."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if kind in _CALLS:
        return [_call(block)]
    if kind in _RESPONSES:
        value = result_of(first(block, ("response", "result", "content")))
        if block.get("is_error"):
            value = error_result(value)
        name = block.get("name")
        return [Result(value, _id(block), name if isinstance(name, str) else None)]
    return None


def _call(block: dict[str, Any]) -> Call:
    inner = first(block, ("tool_call", "server_tool_call"))
    body = inner if isinstance(inner, dict) else block
    function = body.get("function")
    fields = function if isinstance(function, dict) else body
    arguments = arguments_of(first(fields, ("arguments", "args", "input")))
    return Call(
        name_of(first(fields, ("name",)) or block.get("name")), arguments, _id(body) or _id(block)
    )


def _id(block: dict[str, Any]) -> str | None:
    return text_id(first(block, _IDS))
