"""Pydantic AI messages: a `kind` of `request` or `response`, and parts that say what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Call, Instruct, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
    text_of,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_CALLS = frozenset({"tool-call", "builtin-tool-call"})
_RETURNS = frozenset({"tool-return", "builtin-tool-return"})


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message is of this shape."""
    return message.get("kind") in ("request", "response") and isinstance(message.get("parts"), list)


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says; instructions come before what was asked."""
    told = message.get("instructions")
    found: list[Event] = [Instruct(told)] if isinstance(told, str) and told else []
    for part in message["parts"]:
        if isinstance(part, dict):
            found += _part(part, joiner)
    return found


def _part(part: dict[str, Any], joiner: str) -> list[Event]:
    kind = part.get("part_kind")
    if not isinstance(kind, str):
        return []
    if kind in _CALLS:
        return [Call(name_of(part.get("tool_name")), arguments_of(part.get("args")), _id(part))]
    if kind in _RETURNS:
        return [_result(part, failed=part.get("outcome") in ("failed", "denied"))]
    if kind == "retry-prompt":  # a failed call, or words of the framework to the model
        return [_result(part, failed=True)] if part.get("tool_name") else []
    text = text_of(part.get("content"), joiner)
    if kind == "user-prompt":
        return [Ask(text)]
    if kind == "system-prompt":
        return [Instruct(text)] if text else []
    return [Say(text)] if kind == "text" and text else []


def _result(part: dict[str, Any], *, failed: bool) -> Result:
    value = result_of(part.get("content"))
    name = part.get("tool_name")
    return Result(
        error_result(value) if failed else value,
        _id(part),
        name if isinstance(name, str) else None,
    )


def _id(part: dict[str, Any]) -> str | None:
    return text_id(part.get("tool_call_id"))
