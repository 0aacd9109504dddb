"""The shortcut for chat as OpenAI writes it, which most of a night consists of.

Gives the steps that the general path gives (`events_of`, then `steps_from_events`), for messages
with nothing unusual about them; at the first oddity it gives up and the general path is taken.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.messages.values import arguments_of, result_of

# Any other key may change what a message says.
_USER_KEYS = frozenset({"role", "content", "name", "id"})
_AGENT_KEYS = _USER_KEYS | {"tool_calls", "refusal", "function_call", "audio", "annotations"}
_TOOL_KEYS = frozenset({"role", "content", "name", "tool_call_id"})


def plain_steps(messages: list[Any]) -> list[dict[str, Any]] | None:
    """Return the steps of plain chat messages, or None when the general path must read them."""
    steps: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    used: set[str] = set()
    for message in messages:
        if type(message) is not dict:
            return None
        role = message.get("role")
        content = message.get("content")
        if role == "assistant":
            if not message.keys() <= _AGENT_KEYS or not _is_plain(message, content):
                return None
            if content:
                steps.append({"text": content})
            calls = message.get("tool_calls")
            if calls and not _add_calls(calls, steps, waiting, used):
                return None
        elif role == "tool":
            step = waiting.pop(message.get("tool_call_id"), None)  # type: ignore[arg-type]
            if step is None or type(content) is not str or not message.keys() <= _TOOL_KEYS:
                return None
            if "<tool_response>" in content:
                return None
            step["result"] = result_of(content)
        elif role == "user":
            if type(content) is not str or not message.keys() <= _USER_KEYS:
                return None
            steps.append({"user": content})
        elif role != "system":
            return None
    return steps


def _is_plain(message: dict[str, Any], content: object) -> bool:
    if content is None:
        return "tool_calls" in message
    return (
        type(content) is str
        and "<tool_call>" not in content
        and message.get("function_call") is None
    )


def _add_calls(
    calls: object,
    steps: list[dict[str, Any]],
    waiting: dict[str, dict[str, Any]],
    used: set[str],
) -> bool:
    if type(calls) is not list:
        return False
    for call in calls:
        try:
            identity = call["id"]
            function = call["function"]
            name = function["name"]
            arguments = function["arguments"]
        except (TypeError, KeyError, IndexError):
            return False
        if not identity or identity in used or type(name) is not str or not name:
            return False
        if type(identity) is not str or type(arguments) is not str:
            return False
        step = {"tool": name, "arguments": arguments_of(arguments)}
        steps.append(step)
        waiting[identity] = step
        used.add(identity)
    return True
