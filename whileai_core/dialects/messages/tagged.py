"""Calls and results written into the text, as chat templates do.

Hermes and Qwen write `<tool_call>` and `<tool_response>`, with JSON or `<function=name>` inside;
OpenHands writes `<function=name>` alone, Glaive `<functioncall>`, Llama `<|python_tag|>`, Mistral
`[TOOL_CALLS]`.
"""

from __future__ import annotations

import re
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages import pythonic
from whileai_core.dialects.messages.values import arguments_of, first, result_of

_CALL = re.compile(
    r"<tool_call>(?P<tagged>.*?)(?:</tool_call>|\Z)"
    r"|(?P<function><function=[^>\s]+>.*?</function>)"
    r"|<functioncall>(?P<glaive>.*?)(?:<\|endoftext\|>|</functioncall>|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(r"\s*<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>(.*?)</parameter>", re.DOTALL)
_RESPONSE = re.compile(r"<tool_response>(.*?)(?:</tool_response>|\Z)", re.DOTALL)
_EXECUTED = re.compile(r"EXECUTION RESULT of \[([\w.-]+)\]:\n?(.*)\Z", re.DOTALL)
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)
_LEADING = ("<|python_tag|>", "[TOOL_CALLS]")
_QUOTED_ARGUMENTS = re.compile(r"(\"arguments\":\s*)'(.*)'(\s*\}\s*)\Z", re.DOTALL)


def may_call(text: str) -> bool:
    """Tell cheaply whether an agent's text can hold calls."""
    return "<tool_call>" in text or "<function" in text or text.startswith(("[", "<|python_tag|>"))


def is_marked(text: str) -> bool:
    """Tell cheaply whether a text, whoever said it, can be more than words."""
    return ("<" in text or text[:1] in ("[", "E")) and (may_call(text) or is_told(text))


def assistant_events(text: str) -> list[Event]:
    """Return an agent's text as turns and calls; text without calls is one turn."""
    if not may_call(text):
        return [Say(text)]
    for mark in _LEADING:
        if text.startswith(mark):
            return calls_in(text.removeprefix(mark).strip()) or [Say(text)]
    if text.startswith("["):
        return list(pythonic.calls_in(text)) or [Say(text)]
    events: list[Event] = []
    start = 0
    for match in _CALL.finditer(text):
        call = call_in(match["tagged"] or match["function"] or match["glaive"] or "")
        if call is not None:
            _say(events, text[start : match.start()])
            events.append(call)
            start = match.end()
    if not events:
        return [Say(text)]
    _say(events, text[start:])
    return events


def is_told(text: str) -> bool:
    """Tell whether a text in the user's place tells results, where there is no role for them."""
    return text.lstrip().startswith("<tool_response>") or _EXECUTED.match(text) is not None


def user_events(text: str) -> list[Event]:
    """Return what stands in the user's place: an ask or results."""
    if not is_marked(text) or not is_told(text):
        return [Ask(text)]
    executed = _EXECUTED.match(text)
    if executed is not None:
        return [Result(result_of(executed[2]), None, executed[1])]
    return [Result(value, None, name) for name, value in tool_values(text) or ()]


def _say(events: list[Event], text: str) -> None:
    spoken = _THINKING.sub("", text).strip()
    if spoken:
        events.append(Say(spoken))


def call_in(text: str) -> Call | None:
    """Return the call a text spells, as JSON or as `<function=name>`, if it has a name."""
    function = _FUNCTION.match(text)
    if function is not None:
        return Call(function[1], _parameters(function[2]))
    fields = arguments_of(text) or arguments_of(_QUOTED_ARGUMENTS.sub(_requoted, text))
    inner = fields.get("function")
    fields = inner if isinstance(inner, dict) else fields
    name = fields.get("name")
    if not isinstance(name, str) or not name:
        return None
    return Call(name, arguments_of(first(fields, ("arguments", "parameters", "args"))))


def _requoted(match: re.Match[str]) -> str:
    """Glaive puts the arguments' JSON between single quotes."""
    return f"{match[1]}{jsonio.text(match[2])}{match[3]}"


def _parameters(body: str) -> dict[str, Any]:
    """Return the parameters between tags, or the JSON object Llama writes in their place."""
    tagged = {key: _trimmed(value) for key, value in _PARAMETER.findall(body)}
    return tagged or arguments_of(body.strip())


def _trimmed(value: str) -> str:
    return value.removeprefix("\n").removesuffix("\n")


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


def named_results(value: object) -> list[tuple[str, Any]]:
    """Return (tool name, value) for each result of a list that answers several calls at once."""
    if not isinstance(value, list) or not all(map(_is_named_result, value)):
        return []
    return [(item["name"], item["results"]) for item in value]


def _is_named_result(item: object) -> bool:
    if not isinstance(item, dict) or item.keys() != {"name", "results"}:
        return False
    return isinstance(item["name"], str)


def calls_in(text: str) -> list[Event]:
    """Return the calls a whole text spells as JSON: one object or a list of them."""
    try:
        value = jsonio.loads(text)
    except ValueError:
        value = None
    texts = [jsonio.text(item) for item in value] if isinstance(value, list) else [text]
    return [call for item in texts if (call := call_in(item)) is not None]
