"""Blocks of LlamaIndex messages: the kind stands under `block_type`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call
from whileai_core.dialects.messages.values import arguments_of, name_of, text_id

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one block says, or None when it is not of this shape."""
    kind = block.get("block_type")
    if kind == "tool_call":
        arguments = arguments_of(block.get("tool_kwargs"))
        return [
            Call(name_of(block.get("tool_name")), arguments, text_id(block.get("tool_call_id")))
        ]
    return [] if kind == "thinking" else None
