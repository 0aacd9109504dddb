"""Agents and chains around model calls: input and output are asks and answers only loosely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Event, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.spans.functions import json_value
from whileai_core.dialects.spans.values import JOINER, decoded, is_fragment

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENVELOPES = ("inputs", "outputs", "args", "kwargs", "state")
_ASK_KEYS = (
    *_ENVELOPES,
    "input",
    "question",
    "query",
    "prompt",
    "user_input",
    "text",
    "message",
    "content",
)
_ANSWER_KEYS = (
    *_ENVELOPES,
    "output",
    "answer",
    "result",
    "response",
    "final_output",
    "text",
    "content",
)
_DEEPEST = 4


def frame_asks(value: Any) -> list[Event]:
    """Return what the input of a frame around model calls asks."""
    return _events(value, _ASK_KEYS, Ask, 0)


def frame_answers(value: Any) -> list[Event]:
    """Return what the output of a frame around model calls answers."""
    return _events(value, _ANSWER_KEYS, Say, 0)


def _events(
    value: Any, keys: Sequence[str], kind: type[Ask] | type[Say], depth: int
) -> list[Event]:
    found = decoded(value)
    if isinstance(found, str):
        text = json_value(found) if found[:1] == '"' else found
        if not isinstance(text, str) or not text.strip() or is_fragment(text):
            return []
        return [kind(text)]
    events = events_of(found, joiner=JOINER)
    if events or depth > _DEEPEST or not found:
        return events
    if isinstance(found, list):
        return _events(found[0], keys, kind, depth + 1) if len(found) == 1 else []
    return _object_events(found, keys, kind, depth) if isinstance(found, dict) else []


def _object_events(
    value: dict[str, Any], keys: Sequence[str], kind: type[Ask] | type[Say], depth: int
) -> list[Event]:
    for key in keys:
        if value.get(key):
            events = _events(value[key], keys, kind, depth + 1)
            if events:
                return events
    only = next(iter(value.values())) if len(value) == 1 else None
    return _events(only, keys, kind, depth + 1) if isinstance(only, dict | list) else []
