"""Messages with a role: OpenAI chat, its older `function_call`, and everyone who copied it.

Content may be text or any producer's blocks; `parts` is read as content.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Instruct, Result
from whileai_core.dialects.messages import ai_sdk, blocks, tagged
from whileai_core.dialects.messages.roles import Role, role_of
from whileai_core.dialects.messages.values import (
    answer_of,
    arguments_of,
    error_result,
    first,
    free_arguments,
    name_of,
    result_of,
    text_id,
    text_of,
)

_CONTENT = ("content", "parts", "blocks", "contents", "items", "text", "value", "message")
_CALL_LISTS = ("tool_calls", "toolCalls")
_CALL_IDS = ("tool_call_id", "tool_use_id", "call_id", "toolCallId")


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message says its role."""
    return role_of(message.get("role")) is not None


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says, text before the calls that stand beside it."""
    role = role_of(message.get("role"))
    return [] if role is None else events_as(role, message, joiner)


def events_as(role: Role, message: dict[str, Any], joiner: str) -> list[Event]:
    """Return what a message says, spoken by this role."""
    content = _content(message)
    if role == "tool":
        return _tool_events(message, content)
    if isinstance(content, list):
        found = blocks.role_events(role, content, joiner)
    else:
        found = _text_events(role, text_of(content, joiner))
    if role == "assistant":
        if not found and not isinstance(content, str):
            found = _text_events(role, _spoken_otherwise(message))
        return ai_sdk.invocations_of(message) + found + calls_of(message)
    return found


def _content(message: dict[str, Any]) -> object:
    # `content` can be there and empty beside filled `parts` (AI SDK UI messages).
    content = message.get("content")
    parts = message.get("parts")
    if isinstance(parts, list) and parts and not isinstance(content, list):
        return parts
    return content if content is not None else first(message, _CONTENT)


def _text_events(role: Role, text: str) -> list[Event]:
    if role == "user":
        return tagged.user_events(text)
    if not text:
        return []
    return tagged.assistant_events(text) if role == "assistant" else [Instruct(text)]


def _spoken_otherwise(message: dict[str, Any]) -> str:
    """Return a refusal or the transcript of a spoken answer."""
    audio = message.get("audio")
    spoken = audio.get("transcript") if isinstance(audio, dict) else None
    said = message.get("refusal") or spoken
    return said if isinstance(said, str) else ""


def calls_of(message: dict[str, Any]) -> list[Event]:
    """Return the calls in `tool_calls`, else the one in the older `function_call`.

    LangChain and LlamaIndex keep what came from the provider under `additional_kwargs`.
    """
    for key in _CALL_LISTS:
        entries = message.get(key)
        if isinstance(entries, str):  # as tables export columns of structures
            entries = result_of(entries)
        if isinstance(entries, dict):
            entries = [entries]
        if isinstance(entries, list) and entries:
            return [event for entry in entries if (event := _call(entry)) is not None]
    legacy = arguments_of(message.get("function_call"))
    if legacy:
        return [Call(name_of(legacy.get("name")), arguments_of(legacy.get("arguments")))]
    more = message.get("additional_kwargs")
    return calls_of(more) if isinstance(more, dict) else []


def _call(entry: object) -> Call | None:
    if isinstance(entry, str):  # one call as JSON text, so that a table has one column type
        entry = arguments_of(entry)
    if not isinstance(entry, dict) or not entry:
        return None
    identity = text_id(first(entry, ("id", "tool_call_id", "call_id")))
    custom = entry.get("custom")
    if isinstance(custom, dict):
        return Call(name_of(custom.get("name")), free_arguments(custom.get("input")), identity)
    function = entry.get("function")
    if isinstance(function, str):  # {"function": name, "arguments": {...}}
        return Call(name_of(function), arguments_of(entry.get("arguments")), identity)
    fields = function if isinstance(function, dict) else entry
    name = first(fields, ("name", "tool_name", "tool"))
    arguments = first(fields, ("arguments", "args", "input", "parameters"))
    return Call(name_of(name), arguments_of(arguments), identity)


def _tool_events(message: dict[str, Any], content: object) -> list[Event]:
    name = first(message, ("name", "tool_name"))
    name = name if isinstance(name, str) and name else None
    identity = _answered_call(message)
    if isinstance(content, list):
        found = blocks.tool_results(content)
        if found:
            return [Result(r.value, r.id or identity, r.name or name) for r in found]
    values = tagged.tool_values(content) if isinstance(content, str) else None
    if values is not None:
        return [Result(value, identity, name or own_name) for own_name, value in values]
    value = answer_of(content)
    named = tagged.named_results(value)
    if named:
        return [Result(answer, None, own_name) for own_name, answer in named]
    if _failed(message):
        value = error_result(value, content)
    return [Result(value, identity, name)]


def _answered_call(message: dict[str, Any]) -> str | None:
    identity = first(message, _CALL_IDS)
    more = message.get("additional_kwargs")
    if identity is None and isinstance(more, dict):
        identity = first(more, _CALL_IDS)
    if identity is None:
        several = message.get("tool_call_ids")
        identity = several[0] if isinstance(several, list) and len(several) == 1 else None
    return text_id(identity)


def _failed(message: dict[str, Any]) -> bool:
    return bool(message.get("is_error") or message.get("isError")) or (
        message.get("status") == "error"
    )
