"""Chat-like messages of every shape, read into neutral events.

One module per shape. Message shapes have `matches` and `events`; shapes of content blocks have
`block_events`. A shape is recognised per message, so that mixed lists are read too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.messages import (
    autogen,
    autogen_chats,
    haystack,
    langchain,
    letta,
    microsoft,
    openai_chat,
    pydantic_ai,
    responses,
    sharegpt,
)
from whileai_core.dialects.messages.envelopes import inner_messages
from whileai_core.dialects.messages.roles import role_of

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_CONTENTS = ("blocks", "contents", "items")  # of frameworks, each saying its type
_DEEPEST_ENVELOPE = 8
# Keys of which a message has one at least, so that a list of people with roles is none.
_SPEECH = frozenset(
    {
        "content", "parts", "text", "tool_calls", "toolCalls", "function_call", "refusal", "data",
        "kwargs",
    }
)  # fmt: skip


def events_of(messages: object, *, joiner: str = "\n") -> list[Event]:
    """Return what messages say, in source order.

    Takes a list of messages, one message, an object around messages (a request, a reply), or
    the JSON text of any of these. What is no message says nothing.

    Args:
        messages: The messages.
        joiner: Goes between neighbouring text blocks of one message.
    """
    return _events(messages, joiner, _DEEPEST_ENVELOPE)


def is_message(value: object) -> bool:
    """Tell whether a value is one message itself, rather than something around messages."""
    return isinstance(value, dict) and (
        responses.matches(value)
        or sharegpt.matches(value)
        or (openai_chat.matches(value) and _speaks(value))
        or (langchain.matches(value) and not _SPEECH.isdisjoint(value))
        or autogen.matches(value)
        or letta.matches(value)
        or pydantic_ai.matches(value)
        or haystack.without_marks(value) is not None
        or microsoft.with_small_keys(value) is not None
    )


def _speaks(message: dict[str, Any]) -> bool:
    if not _SPEECH.isdisjoint(message):
        return True
    contents = (message.get(key) for key in _CONTENTS)
    return any(isinstance(held, list) and _is_typed(held) for held in contents)


def _is_typed(contents: list[Any]) -> bool:
    return all(isinstance(c, dict) and any(k.endswith("type") for k in c) for c in contents)


def _events(value: object, joiner: str, depth: int) -> list[Event]:
    if isinstance(value, dict):
        return _object_events(value, joiner, depth)
    if depth == 0:
        return []
    if isinstance(value, list | tuple):
        if _is_pair(value):
            return _object_events({"role": value[0], "content": value[1]}, joiner, depth)
        usual = autogen_chats.usual_messages(value) if isinstance(value, list) else None
        return [event for item in usual or value for event in _events(item, joiner, depth - 1)]
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            decoded = jsonio.loads(value)
        except ValueError:
            return []
        return _events(decoded, joiner, depth - 1)
    return []


def _object_events(value: dict[str, Any], joiner: str, depth: int) -> list[Event]:
    if responses.matches(value):
        return responses.item_events(value) or []
    if openai_chat.matches(value):
        return openai_chat.events(value, joiner)
    if sharegpt.matches(value):
        return sharegpt.events(value, joiner)
    if langchain.matches(value):
        return langchain.events(value, joiner)
    if autogen.matches(value):
        return autogen.events(value, joiner)
    if letta.matches(value):
        return letta.events(value, joiner)
    if pydantic_ai.matches(value):
        return pydantic_ai.events(value, joiner)
    renamed = haystack.without_marks(value) or microsoft.with_small_keys(value)
    if renamed is not None:
        return _object_events(renamed, joiner, depth)
    inner = inner_messages(value)
    return [] if inner is None or depth == 0 else _events(inner, joiner, depth - 1)


def _is_pair(value: list[Any] | tuple[Any, ...]) -> bool:
    """Tell whether a list is one message written as (role, text)."""
    return len(value) == 2 and isinstance(value[1], str) and role_of(value[0]) is not None
