"""Values where a text or a list was expected: what can be made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Call, Say
from whileai_core.dialects.messages import events_of, is_message
from whileai_core.dialects.messages.values import python_value

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Keys under which an object carries the text it stands for.
_TEXTS = (
    "question",
    "prompt",
    "answer",
    "text",
    "content",
    "query",
    "input",
    "output",
    "result",
    "response",
    "message",
    "task",
    "final_answer",
    "value",
    "raw",
)
_DEEPEST = 4
# Keys under which stores, pages and reports hold many records.
_CONTAINERS = (
    "data", "items", "results", "records", "rows", "logs", "entries", "requests", "responses",
    "examples", "samples", "conversations", "chats", "sessions", "threads", "traces", "runs",
    "calls", "events", "test_cases", "testCases", "hits",
)  # fmt: skip
# Keys under which logs and search engines hold the one record they keep; it may be JSON text.
_ENVELOPES = (
    "_source", "record", "payload", "json", "jsonPayload", "textPayload", "message", "log", "hits",
)  # fmt: skip
_CONTAINER_KEYS = frozenset(_CONTAINERS)
_MESSAGE_LISTS = ("messages", "conversation", "conversations", "turns", "history", "chat_messages")
_DEEPEST_STATE = 6
_MOST_OBJECTS = 2000  # looked at in search of messages


class Inner(NamedTuple):
    """Messages found inside an object: what holds them, under which key, and if that is a name."""

    holder: dict[str, Any]
    key: str
    messages: list[Any]

    @property
    def named(self) -> bool:
        """Whether the key is the conversation's own, not what such lists are called."""
        return self.key not in _MESSAGE_LISTS


def decoded_list(value: object) -> list[Any] | None:
    """Return a list, or the list that a JSON text spells; of anything else None."""
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            decoded = jsonio.loads(value)
        except ValueError:
            decoded = python_value(value)
        return decoded if isinstance(decoded, list) else None
    return None


def holds_messages(values: Sequence[object]) -> bool:
    """Tell whether a list consists of messages, as far as its first few tell."""
    head = values[:3]
    return bool(head) and all(map(is_message, head)) and bool(events_of(list(values[:8])))


def wrapped_message(value: object) -> dict[str, Any] | None:
    """Return the one message an object wraps beside what is known about it, else None."""
    inner = value.get("message") if isinstance(value, dict) and not is_message(value) else None
    return inner if is_message(inner) else None


def holds_wrapped_messages(values: Sequence[object]) -> bool:
    """Tell whether a list consists of wrapped messages of which some ask and others answer.

    Many replies, each wrapped, are not one conversation.
    """
    inner = [wrapped_message(value) for value in values]
    return all(inner) and _is_two_sided(inner)


def records_in(value: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the lists in an object whose items may be records; a record kept alone is a list too.

    Everything in an object that is no record itself is looked at, so call this for those alone.
    """
    for key in _CONTAINERS:
        items = value.get(key)
        if isinstance(items, list) and items and isinstance(items[0], dict):
            yield items
    for key in _ENVELOPES:
        record = _decoded_object(value.get(key))
        if record:
            yield [record]


def _decoded_object(value: object) -> dict[str, Any]:
    """Return an object, or the object that a JSON text spells; of anything else an empty one."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            value = jsonio.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def conversations_among(value: dict[str, Any]) -> list[Any] | None:
    """Return the items of a list of conversations, which joined would read as one; else None."""
    if _CONTAINER_KEYS.isdisjoint(value):
        return None
    for key in _CONTAINERS:
        items = value.get(key)
        if isinstance(items, list) and items and all(map(_is_conversation, items[:3])):
            return items
    return None


def _is_conversation(item: object) -> bool:
    if not isinstance(item, dict) or is_message(item):
        return False
    lists = (item.get(key) for key in _MESSAGE_LISTS)
    return any(isinstance(found, list) and holds_messages(found) for found in lists)


def conversations_inside(value: dict[str, Any]) -> list[Inner]:
    """Return the message lists nearest to the top of a nested object, all of the same depth.

    States of agents and of stores keep them under keys of their own; deeper lists repeat them.
    """
    level: list[dict[str, Any]] = [value]
    looked_at = 0
    for _ in range(_DEEPEST_STATE):
        found = [inner for holder in level for inner in _conversations_of(holder)]
        below = [inner for holder in level for inner in _objects_of(holder)]
        looked_at += len(below)
        if found or looked_at > _MOST_OBJECTS:
            return found
        level = below
    return []


def _conversations_of(holder: dict[str, Any]) -> list[Inner]:
    """Return the one conversation an object holds, or all of them if it holds nothing else.

    Two lists among other things are two views of one conversation, or alternatives of it.
    """
    found = [
        Inner(holder, key, value)
        for key, value in holder.items()
        if isinstance(value, list) and holds_messages(value) and _is_two_sided(value)
    ]
    named = len(found) == len(holder) and all(inner.named for inner in found)
    return found if len(found) == 1 or named else []


def _is_two_sided(messages: list[Any]) -> bool:
    events = events_of(messages)
    asked = any(isinstance(event, Ask) for event in events)
    return asked and any(isinstance(event, Say | Call) for event in events)


def _objects_of(holder: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for value in holder.values():
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                yield inner


def text_in(value: object, depth: int = _DEEPEST) -> str:
    """Return the text an object or a list stands for, else its JSON text."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, dict):
        for key in _TEXTS:
            inner = value.get(key)
            if inner and isinstance(inner, str | dict | list):
                return text_in(inner, depth - 1)
        texts = [inner for inner in value.values() if isinstance(inner, str) and inner]
        if len(texts) == 1:
            return texts[0]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if depth and isinstance(value, list) and len(value) == 1:
        return text_in(value[0], depth - 1)
    return jsonio.text(value) if value is not None else ""
