"""The plainest messages, read without asking every message shape in turn.

Most messages of a history are a role with one text, or calls that their own spans tell better.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Instruct, Say
from whileai_core.dialects.messages.tagged import is_marked
from whileai_core.dialects.spans.values import JOINER

if TYPE_CHECKING:
    from collections.abc import Container

    from whileai_core.dialects.events import Event

_SPEAKERS: dict[Any, type[Ask] | type[Say] | type[Instruct]] = {
    "user": Ask,
    "assistant": Say,
    "system": Instruct,
}
_PLAIN_KEYS = frozenset({"role", "content", "parts", "finish_reason"})
_CALL_PARTS = frozenset({"tool_call", "tool_call_response"})


def plain_events(message: Any) -> list[Event] | None:
    """Return what a message with a role and nothing but text says; None for every other one."""
    if type(message) is not dict or not message.keys() <= _PLAIN_KEYS:
        return None
    role = message.get("role")
    speaker = _SPEAKERS.get(role) if type(role) is str else None
    text = _only_text(message)
    if speaker is None or text is None:
        return None
    return [speaker(text)] if text or speaker is Ask else []


def _only_text(message: dict[str, Any]) -> str | None:
    parts = message.get("parts")
    if parts is None:
        content = message.get("content")
        return content if type(content) is str and not is_marked(content) else None
    if type(parts) is not list or not parts or "content" in message:
        return None
    texts = []
    for part in parts:
        if type(part) is not dict or len(part) != 2 or part.get("type") != "text":
            return None
        text = part.get("content")
        if type(text) is not str:
            return None
        if text:
            texts.append(text)
    return JOINER.join(texts)


def names_only(message: Any, ids: Container[str]) -> bool:
    """Tell whether a message says nothing but calls, or their results, with these ids."""
    if type(message) is not dict:
        return False
    parts = message.get("parts")
    if type(parts) is list:
        for part in parts:
            if type(part) is not dict or part.get("type") not in _CALL_PARTS:
                return False
            identity = part.get("id")
            if type(identity) is not str or identity not in ids:
                return False
        return bool(parts)
    role = message.get("role")
    if role == "tool":
        identity = message.get("tool_call_id")
        return type(identity) is str and identity in ids
    calls = message.get("tool_calls")
    if role != "assistant" or message.get("content") or type(calls) is not list:
        return False
    for call in calls:
        identity = call.get("id") if type(call) is dict else None
        if type(identity) is not str or identity not in ids:
            return False
    return bool(calls)
