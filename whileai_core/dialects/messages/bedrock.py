"""Content blocks of the Bedrock Converse API: one key each, `text`, `toolUse`, `toolResult`."""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
)


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one block says, or None when it is not of this shape."""
    kind = block.get("type")
    if kind in ("toolUse", "toolResult"):  # as SDKs in other languages flatten it
        block = {kind: block}
    use = block.get("toolUse")
    if isinstance(use, dict):
        arguments = arguments_of(use.get("input"))
        return [Call(name_of(use.get("name")), arguments, text_id(use.get("toolUseId")))]
    answer = block.get("toolResult")
    if isinstance(answer, dict):
        value = result_of(answer.get("content"))
        if answer.get("status") == "error":
            value = error_result(value)
        return [Result(value, text_id(answer.get("toolUseId")))]
    return None
