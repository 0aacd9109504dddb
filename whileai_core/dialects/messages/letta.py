"""Letta messages: `message_type` says what one is; what the user said may be wrapped as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Call, Instruct, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
    text_of,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_SPEAK = "send_message"  # a call by which the agent of earlier versions speaks


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message is of this shape."""
    kind = message.get("message_type")
    return isinstance(kind, str) and kind.endswith("_message")


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says; reasoning, approvals and summaries say nothing."""
    kind = message["message_type"]
    if kind == "tool_call_message":
        return _calls(message)
    if kind == "tool_return_message":
        return _results(message)
    text = text_of(first(message, ("content", "message")), joiner)
    if kind == "user_message":
        said = _said(text)
        return [] if said is None else [Ask(said)]
    if kind == "assistant_message":
        return [Say(text)] if text else []
    return [Instruct(text)] if kind == "system_message" and text else []


def _said(text: str) -> str | None:
    """Return the user's words; None for a note of the platform in the user's name."""
    if not text.startswith("{"):
        return text
    try:
        note = jsonio.loads(text)
    except ValueError:
        return text
    if not isinstance(note, dict) or not isinstance(note.get("type"), str) or "time" not in note:
        return text
    said = note.get("message")
    return said if note["type"] == "user_message" and isinstance(said, str) else None


def _calls(message: dict[str, Any]) -> list[Event]:
    listed = message.get("tool_calls")
    calls = listed if isinstance(listed, list) and listed else [message.get("tool_call")]
    found: list[Event] = []
    for call in calls:
        if not isinstance(call, dict):
            continue
        name, arguments = name_of(call.get("name")), arguments_of(call.get("arguments"))
        if name == _SPEAK and isinstance(arguments.get("message"), str):
            found.append(Say(arguments["message"]))
        else:
            found.append(Call(name, arguments, text_id(call.get("tool_call_id"))))
    return found


def _results(message: dict[str, Any]) -> list[Event]:
    listed = message.get("tool_returns")
    answers = listed if isinstance(listed, list) and listed else [message]
    found: list[Event] = []
    for answer in answers:
        if not isinstance(answer, dict) or answer.get("name") == _SPEAK:
            continue
        value = result_of(answer.get("tool_return"))
        if answer.get("status") == "error":
            value = error_result(value)
        name = answer.get("name")
        identity = text_id(answer.get("tool_call_id"))
        found.append(Result(value, identity, name if isinstance(name, str) else None))
    return found
