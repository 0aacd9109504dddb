"""Calls and results written into the text between tags, as Hermes and Qwen templates do."""

from __future__ import annotations

import re
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Call, Event, Say
from whileai_core.dialects.messages.values import arguments_of, first, result_of

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)


def assistant_events(text: str) -> list[Event]:
    """Return an agent's text as turns and calls; text without tagged calls is one turn."""
    if "<tool_call>" not in text:
        return [Say(text)]
    events: list[Event] = []
    start = 0
    for match in _CALL.finditer(text):
        call = call_in(match.group(1))
        if call is not None:
            _say(events, text[start : match.start()])
            events.append(call)
            start = match.end()
    if not events:
        return [Say(text)]
    _say(events, text[start:])
    return events


def _say(events: list[Event], text: str) -> None:
    spoken = _THINKING.sub("", text).strip()
    if spoken:
        events.append(Say(spoken))


def call_in(text: str) -> Call | None:
    """Return the call a JSON text spells, if it has a name."""
    fields = arguments_of(text)
    function = fields.get("function")
    fields = function if isinstance(function, dict) else fields
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    return Call(name, arguments_of(first(fields, ("arguments", "parameters", "args"))))


def tool_values(text: str) -> list[tuple[str | None, Any]] | None:
    """Return (tool name, value) for each tagged response, or None when there is none."""
    if not text.lstrip().startswith("<tool_response>"):
        return None
    return [_tool_value(match.group(1).strip()) for match in _RESPONSE.finditer(text)]


def _tool_value(text: str) -> tuple[str | None, Any]:
    value = result_of(text)
    if isinstance(value, dict) and isinstance(value.get("name"), str) and "content" in value:
        return value["name"], result_of(value["content"])
    return None, value


def calls_in(text: str) -> list[Event]:
    """Return the calls a whole text spells as JSON: one object or a list of them."""
    try:
        value = jsonio.loads(text)
    except ValueError:
        value = None
    texts = [jsonio.text(item) for item in value] if isinstance(value, list) else [text]
    return [call for item in texts if (call := call_in(item)) is not None]
