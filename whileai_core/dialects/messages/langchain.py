"""LangChain messages: `type` instead of a role, `data` around them, or the serialised `lc` form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.messages import openai_chat
from whileai_core.dialects.messages.roles import Role, role_of

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_CLASSES: dict[str, Role] = {
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "ToolMessage": "tool",
    "FunctionMessage": "tool",
    "SystemMessage": "system",
}


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message is of this shape."""
    return _is_serialised(message) or _role(message) is not None


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says."""
    role = _role(message)
    body = message.get("kwargs") if _is_serialised(message) else message.get("data", message)
    if role is None or not isinstance(body, dict):
        return []
    return openai_chat.events_as(role, body, joiner)


def _is_serialised(message: dict[str, Any]) -> bool:
    return "lc" in message and message.get("type") == "constructor"


def _role(message: dict[str, Any]) -> Role | None:
    if _is_serialised(message):
        path = message.get("id")
        return _class_role(path[-1]) if isinstance(path, list) and path else None
    kind = message.get("type")
    if kind == "chat":
        return role_of(message.get("role"))
    return _class_role(kind) or role_of(kind)


def _class_role(name: object) -> Role | None:
    return _CLASSES.get(name.removesuffix("Chunk")) if isinstance(name, str) else None
