"""What goes into a model call or an agent and what comes out, as exporters store it.

A payload may be text, one message, a list of messages, a provider's request or reply, the state
of a graph, or JSON text of any of these.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    first,
    name_of,
    text_id,
    text_of,
)
from whileai_core.dialects.records.shape import Object, decoded, obj

# Where an object holds its messages or its text; the first that gives anything is read.
_IN = (
    "messages", "input_messages", "contents", "new_message", "message", "chat_history", "history",
    "conversation", "input", "prompt", "question", "query", "user_input", "task", "request", "text",
)  # fmt: skip
_OUT = (
    "messages", "choices", "generations", "candidates", "output_messages", "message", "content",
    "output", "response", "result", "answer", "final_output", "completion", "text", "value",
)  # fmt: skip
_SYSTEM = ("system", "system_prompt", "system_instruction", "systemInstruction", "instructions")
_DEEPEST = 8


def input_events(payload: object) -> list[Event]:
    """Return the turns that went in; bare text is what the user asked."""
    return _events(payload, _IN, Ask, _DEEPEST)


def output_events(payload: object) -> list[Event]:
    """Return the turns that came out; bare text is what the agent said."""
    return _events(payload, _OUT, Say, _DEEPEST)


def _events(
    payload: object, keys: tuple[str, ...], speaker: type[Ask | Say], depth: int
) -> list[Event]:
    value = decoded(payload)
    if isinstance(value, str):
        return [speaker(value)] if value.strip() else []
    if depth == 0:
        return []
    if isinstance(value, list):
        return _of_list(value, keys, speaker, depth)
    if not isinstance(value, dict):
        return []
    if _is_message(value):
        return events_of([_with_calls(value)])
    if _is_bare_call(value):
        return [_bare_call(value)]
    return _of_object(value, keys, speaker, depth)


def _of_object(
    value: Object, keys: tuple[str, ...], speaker: type[Ask | Say], depth: int
) -> list[Event]:
    told = (text_of(value[key]) for key in _SYSTEM if key in value)
    system: list[Event] = [Instruct(said) for said in told if said]
    for key in keys:
        found = _events(value.get(key), keys, speaker, depth - 1)
        if found:
            return system + found + _bare_calls(value.get("toolCalls"))
    return _bare_calls(value.get("toolCalls"))


def _of_list(
    items: list[Any], keys: tuple[str, ...], speaker: type[Ask | Say], depth: int
) -> list[Event]:
    if items and isinstance(items[0], list):  # a batch: one list of messages per prompt
        return _events(items[0], keys, speaker, depth - 1)
    if any(isinstance(item, dict) and _is_message(item) for item in items):
        return events_of([_with_calls(obj(item)) for item in items])
    if any(_is_bare_call(obj(item)) for item in items):
        return _bare_calls(items)
    if all("name" in obj(obj(item).get("function")) for item in items):
        return events_of([{"role": "assistant", "tool_calls": items}])
    said = text_of(items)
    if said.strip():
        return [speaker(said)]
    # Alternatives of one reply, or stages of one request: the first that says anything.
    for item in items:
        found = _events(item, keys, speaker, depth - 1)
        if found:
            return found
    return []


def _is_message(record: Object) -> bool:
    if isinstance(record.get("role"), str) or "lc" in record or "parts" in record:
        return True
    kind = record.get("type")
    if kind in ("function_call", "function_call_output"):
        return True
    if kind in ("human", "ai", "tool", "system"):
        return "content" in record or "data" in record
    return "from" in record and "value" in record


def _with_calls(message: Object) -> Object:
    """Take calls out of the content, where some frameworks write them as JSON text."""
    content = message.get("content")
    if (
        message.get("role") != "assistant"
        or not isinstance(content, str)
        or '"function"' not in content
    ):
        return message
    calls = decoded(content)
    if (
        isinstance(calls, list)
        and calls
        and all("name" in obj(obj(c).get("function")) for c in calls)
    ):
        return message | {"content": None, "tool_calls": calls}
    return message


# Calls outside any message: {"toolCallId", "toolName", "input" or "args"}.


def _is_bare_call(record: Object) -> bool:
    return "toolName" in record and "toolCallId" in record


def _bare_call(record: Object) -> Call:
    given = arguments_of(first(record, ("input", "args")))
    return Call(name_of(record["toolName"]), given, text_id(record["toolCallId"]))


def _bare_calls(calls: object) -> list[Event]:
    listed = decoded(calls)
    if not isinstance(listed, list):
        return []
    return [_bare_call(call) for call in listed if _is_bare_call(obj(call))]
