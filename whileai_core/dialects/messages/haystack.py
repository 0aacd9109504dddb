"""Contents of Haystack messages: one key each, `text`, `tool_call`, `tool_call_result`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event


def without_marks(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return a message of 2.9 and before, whose keys start with `_`, with today's keys."""
    if "_role" not in message or "_content" not in message:
        return None
    return {key.removeprefix("_"): value for key, value in message.items()}


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one content says, or None when it is not of this shape."""
    if "type" in block:
        return None
    call = block.get("tool_call")
    if isinstance(call, dict) and "tool_name" in call:
        return [_call(call)]
    answer = block.get("tool_call_result")
    if isinstance(answer, dict):
        return [_result(answer)]
    return None


def _call(call: dict[str, Any]) -> Call:
    return Call(
        name_of(call.get("tool_name")), arguments_of(call.get("arguments")), text_id(call.get("id"))
    )


def _result(answer: dict[str, Any]) -> Result:
    value = result_of(answer.get("result"))
    origin = answer.get("origin")
    call = _call(origin) if isinstance(origin, dict) else Call(name_of(None), {})
    return Result(error_result(value) if answer.get("error") is True else value, call.id, call.name)
