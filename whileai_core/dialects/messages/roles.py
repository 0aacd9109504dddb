"""Who speaks: the spellings of roles, in any letter case."""

from __future__ import annotations

from typing import Literal, TypeAlias

Role: TypeAlias = Literal["user", "assistant", "tool", "system"]

_ROLES: dict[str, Role] = {
    "user": "user",
    "human": "user",
    "customer": "user",
    "prompter": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "gpt": "assistant",
    "chatgpt": "assistant",
    "bot": "assistant",
    "chatbot": "assistant",
    "model": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "tool_result": "tool",
    "tool_response": "tool",
    "toolresult": "tool",
    "function": "tool",
    "function_response": "tool",
    "observation": "tool",
    "ipython": "tool",
    "system": "system",
    "developer": "system",
}


def role_of(value: object) -> Role | None:
    """Return the role a producer's word for it means; None for every other word.

    The word may be the printed name of an enum's member, or stand in an object of its own.
    """
    if isinstance(value, dict):
        value = value.get("value") or value.get("label") or value.get("Label")
    if not isinstance(value, str):
        return None
    return _ROLES.get(value) or _ROLES.get(value.strip().lower().rpartition(".")[2])
