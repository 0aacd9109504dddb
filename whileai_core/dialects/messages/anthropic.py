"""Content blocks of the Anthropic Messages API: `tool_use`, `tool_result` and their kin.

Server-side and MCP tools use the same fields under longer type names (`mcp_tool_use`,
`web_search_tool_result`), their results inside the assistant's own message.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages.values import (
    answer_of,
    arguments_of,
    error_result,
    name_of,
    text_id,
)


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one block says, or None when it is not of this shape."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if kind.endswith("tool_use"):
        arguments = arguments_of(block.get("input"))
        return [Call(name_of(block.get("name")), arguments, text_id(block.get("id")))]
    if kind.endswith("tool_result"):
        return [_result(block)]
    return None


def _result(block: dict[str, Any]) -> Result:
    # Azure writes the value under the block's own type name and the id on the message.
    content = block["content"] if "content" in block else block.get("tool_result")
    value = answer_of(content)
    if block.get("is_error") or block.get("isError") or _is_error_block(content):
        value = error_result(value, content)
    name = block.get("name")
    identity = text_id(block.get("tool_use_id")) or text_id(block.get("tool_call_id"))
    return Result(value, identity, name if isinstance(name, str) else None)


def _is_error_block(content: object) -> bool:
    kind = content.get("type") if isinstance(content, dict) else None
    return isinstance(kind, str) and kind.endswith("tool_result_error")
