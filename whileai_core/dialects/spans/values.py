"""Attribute values that are JSON by convention: decoded, mended when cut, else left as text."""

from __future__ import annotations

from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Event, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import arguments_of

# Text parts of one message are joined with a space in rows made from spans.
JOINER = " "
_FRAGMENT_STARTS = ('{"', "[{", '["', "[[", "{'", "[\\", "{\\")
_ASK_KEYS = ("input", "question", "query", "prompt", "user_input", "text", "message", "content")
_ANSWER_KEYS = ("output", "answer", "result", "response", "final_output", "text", "content")


def decoded(value: Any) -> Any:
    """Return the value behind JSON text that holds an object, a list or such text again.

    Everything else, text that does not parse too, comes back as it is.
    """
    for _ in range(3):
        if type(value) is not str:
            return value
        start = value[:1] if value[:1] in ("{", "[", '"') else value.lstrip()[:1]
        if start == "{" or start == "[":
            try:
                return jsonio.loads_strict(value)
            except ValueError:
                return _loosely_decoded(value)
        if start != '"':
            return value
        try:
            inner = jsonio.loads(value)
        except ValueError:
            return value
        if not isinstance(inner, str) or inner.lstrip()[:1] not in ("{", "[", '"'):
            return value
        value = inner
    return value


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
    value = decoded(payload)
    if not isinstance(value, str):
        return events_of(value, joiner=JOINER)
    if not value.strip():
        return []
    if not _is_fragment(value):
        return [Ask(value)]
    return events_of(mended(value), joiner=JOINER)


def output_events(payload: Any) -> list[Event]:
    """Return what output messages say; a plain text, or JSON that is no message, is the reply."""
    value = decoded(payload)
    if not isinstance(value, str):
        events = events_of(_with_role(value), joiner=JOINER)
        if not events and isinstance(payload, str) and _is_plain_object(value):
            return [Say(payload)]
        return events
    if not value.strip():
        return []
    if _is_fragment(value):
        events = events_of(mended(value), joiner=JOINER)
        return events if events or '"role"' in value else [Say(value)]
    return [Say(value)]


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


def _is_fragment(text: str) -> bool:
    return text.lstrip().startswith(_FRAGMENT_STARTS) or '"role"' in text[:200]


def mended(text: str) -> Any:
    """Return what a JSON text that was cut off still says, or None when it says nothing.

    Exporters cut attribute values at a length; open strings, lists and objects are closed.
    """
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character in "}]" and closers:
            closers.pop()
    if not closers:
        return None
    ending = "".join(reversed(closers))
    stem = text[:-1] if escaped else text
    for candidate in _endings(stem, in_string):
        try:
            return jsonio.strict(jsonio.loads(candidate + ending))
        except ValueError:
            continue
    return None


def _endings(stem: str, in_string: bool) -> list[str]:
    if in_string:
        return [stem + '"', stem.rpartition("\\u")[0] + '"', stem + '":null']
    trimmed = stem.rstrip().rstrip(",").rstrip()
    return [stem, trimmed, trimmed + "null"]


def loose_ask(value: Any) -> list[Event]:
    """Return what the input of a frame around model calls asks."""
    return _loose(value, _ASK_KEYS, Ask)


def loose_answer(value: Any) -> list[Event]:
    """Return what the output of a frame around model calls answers."""
    return _loose(value, _ANSWER_KEYS, Say)


def _loose(
    value: Any, keys: tuple[str, ...], kind: type[Ask] | type[Say], depth: int = 0
) -> list[Event]:
    found = decoded(value)
    if isinstance(found, str):
        text = found
        if text[:1] == '"' and text[-1:] == '"':
            try:
                text = str(jsonio.loads(text))
            except ValueError:
                text = found
        return [kind(text)] if text.strip() and not _is_fragment(text) else []
    events = events_of(found, joiner=JOINER)
    if events or depth > 4:
        return events
    if isinstance(found, list):
        return _loose(found[0], keys, kind, depth + 1) if len(found) == 1 else []
    if isinstance(found, dict):
        for key in ("inputs", "outputs", "args", "kwargs", "state", *keys):
            if found.get(key):
                events = _loose(found[key], keys, kind, depth + 1)
                if events:
                    return events
        if len(found) == 1:
            (only,) = found.values()
            return _loose(only, keys, kind, depth + 1) if isinstance(only, dict | list) else []
    return []
