"""Attribute values that are JSON by convention: decoded, mended when cut, else left as text."""

from __future__ import annotations

from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Event, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import arguments_of, python_value
from whileai_core.dialects.spans.mending import mended

# Text parts of one message are joined with a space in rows made from spans.
JOINER = " "
_FRAGMENT_STARTS = ('{"', "[{", '["', "[[", "{'", "[\\", "{\\")


def decoded(value: Any) -> Any:
    """Return the value behind JSON text that holds an object, a list or such text again.

    Everything else, text that does not parse too, comes back as it is.
    """
    if type(value) is not str:
        return value
    start = value[:1]
    if start == "{" or start == "[":
        try:
            return jsonio.loads_strict(value)
        except ValueError:
            return _loosely_decoded(value)
    return _unwrapped(value)


def _unwrapped(text: str) -> Any:
    """Decode text with white space before it, or encoded more than once."""
    for _ in range(3):
        start = text.lstrip()[:1]
        if start == "{" or start == "[":
            return _loosely_decoded(text)
        if start != '"':
            return text
        try:
            inner = jsonio.loads(text)
        except ValueError:
            return text
        if not isinstance(inner, str) or inner.lstrip()[:1] not in ("{", "[", '"'):
            return text
        text = inner
    return text


def _loosely_decoded(text: str) -> Any:
    """Decode a text that holds NaN and the like; what does not parse stays text."""
    try:
        return jsonio.strict(jsonio.loads(text))
    except ValueError:
        return text


def tool_arguments(value: Any) -> Any:
    """Return tool arguments as an object where they are one, in JSON or as Python prints it."""
    found = decoded(value)
    if isinstance(found, str) and found.lstrip().startswith("{'"):
        return arguments_of(found) or found
    return found


def input_events(payload: Any) -> list[Event]:
    """Return what input messages say; a plain text is one ask, a fragment of JSON is none."""
    value = _printed(decoded(payload))
    if not isinstance(value, str):
        return events_of(value, joiner=JOINER) or [Ask(text) for text in _texts(value)]
    if not value.strip():
        return []
    if not is_fragment(value):
        return [Ask(value)]
    return events_of(mended(value), joiner=JOINER)


def output_events(payload: Any, value: Any) -> list[Event]:
    """Return what output messages say; a plain text, or JSON that is no message, is the reply.

    Args:
        payload: The messages as written.
        value: The same, `decoded`.
    """
    value = _printed(value)
    if not isinstance(value, str):
        events = events_of(_with_role(value), joiner=JOINER)
        if not events and isinstance(payload, str) and _is_plain_object(value):
            return [Say(payload)]
        return events or [Say(text) for text in _texts(value)]
    if not value.strip():
        return []
    if is_fragment(value):
        events = events_of(mended(value), joiner=JOINER)
        return events if events or '"role"' in value else [Say(value)]
    return [Say(value)]


def _printed(value: Any) -> Any:
    """Return the messages behind text that prints them as Python does."""
    if not isinstance(value, str):
        return value
    found = python_value(value)
    return found if not isinstance(found, str) and events_of(found) else value


def _texts(value: Any) -> list[str]:
    """Return a list of plain texts, as completions without messages write them, else none."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    return []


def _with_role(value: Any) -> Any:
    """Give output messages that name no role the only one they can have."""
    messages = value if isinstance(value, list) else [value]
    if any(
        isinstance(message, dict) and "role" not in message and ("parts" in message)
        for message in messages
    ):
        return [
            {"role": "assistant", **message} if isinstance(message, dict) else message
            for message in messages
        ]
    return value


def _is_plain_object(value: Any) -> bool:
    return isinstance(value, dict) and not value.keys() & {"role", "messages", "parts", "choices"}


def is_fragment(text: str) -> bool:
    """Tell whether text that does not parse was JSON once: it is nobody's words."""
    start = text.strip()[:200]
    return start.startswith(_FRAGMENT_STARTS) or start in ("[", "{") or '"role"' in start
