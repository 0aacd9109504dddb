"""Parts of Vercel AI SDK messages: `tool-call`/`tool-result` and the UI's one-part-per-call.

A UI part holds call and result together, by state: `tool-invocation` up to version 4,
`tool-<name>` and `dynamic-tool` since version 5.
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


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one part says, or None when it is not of this shape."""
    kind = block.get("type")
    if not isinstance(kind, str):
        return None
    if kind == "tool-call":
        return [_call(block)]
    if kind == "tool-result":
        return [_result(block)]
    if kind == "tool-invocation" and isinstance(block.get("toolInvocation"), dict):
        return _both(block["toolInvocation"])
    if "toolCallId" in block and (kind == "dynamic-tool" or kind.startswith("tool-")):
        return _both({"toolName": kind.removeprefix("tool-")} | block)
    return None


def invocations_of(message: dict[str, Any]) -> list[Event]:
    """Return the calls of a message without `parts` (version 3); its text came after them."""
    listed = message.get("toolInvocations")
    if not isinstance(listed, list) or message.get("parts"):
        return []
    return [event for part in listed if isinstance(part, dict) for event in _both(part)]


def _both(part: dict[str, Any]) -> list[Event]:
    answered = any(part.get(key) is not None for key in ("result", "output", "errorText"))
    return [_call(part), _result(part)] if answered else [_call(part)]


def _call(part: dict[str, Any]) -> Call:
    arguments = arguments_of(first(part, ("args", "input")))
    return Call(name_of(part.get("toolName")), arguments, text_id(part.get("toolCallId")))


def _result(part: dict[str, Any]) -> Result:
    error = part.get("errorText")
    value = result_of(_output(first(part, ("result", "output"))))
    if isinstance(error, str) and error:
        value = error_result(error)
    elif part.get("isError"):
        value = error_result(value)
    return Result(value, text_id(part.get("toolCallId")), name_of(part.get("toolName")))


def _output(value: object) -> object:
    """Take the value out of a typed output: `{"type": "json", "value": ...}`."""
    if isinstance(value, dict) and set(value) <= {"type", "value", "providerOptions"}:
        return error_result(value.get("value")) if _is_error(value) else value.get("value", value)
    return value


def _is_error(output: dict[str, Any]) -> bool:
    return str(output.get("type", "")).startswith("error-")
