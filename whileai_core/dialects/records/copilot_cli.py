"""GitHub Copilot CLI: the event file of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_START = "session.start"


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_event)


def _is_event(value: object) -> bool:
    record = obj(value)
    return "." in text(record.get("type")) and isinstance(record.get("data"), dict)


def _sessions(lines: Iterable[object]) -> list[list[Object]]:
    sessions: list[list[Object]] = []
    for line in map(obj, lines):
        if not sessions or line.get("type") == _START:
            sessions.append([])
        sessions[-1].append(line)
    return sessions


def _row(lines: list[Object]) -> Row | None:
    start = obj(lines[0].get("data")) if lines else {}
    models = (text(obj(e.get("data")).get("newModel")) for e in lines)
    chosen = next(filter(None, models), "") or text(start.get("selectedModel"))
    extra = present(
        conversation_id=text_id(start.get("sessionId")),
        ts=text(first(start, ("startTime",))) or text(lines[0].get("timestamp")),
        model=chosen,
    )
    asked: set[str] = set()
    events = [event for line in lines for event in _events(line, asked)]
    return row_from_events(events, extra=extra)


def _events(line: Object, called: set[str]) -> list[Event]:
    kind, data = line.get("type"), obj(line.get("data"))
    said = text(data.get("content"))
    if kind == "user.message":
        return [Ask(said)] if said.strip() else []
    if kind == "system.message":
        return [Instruct(said)] if said else []
    if kind == "assistant.message":
        events: list[Event] = [Say(said)] if said.strip() else []
        return events + [_call(request, called) for request in objects(data.get("toolRequests"))]
    if kind == "tool.execution_start" and text_id(data.get("toolCallId")) not in called:
        return [_call(data, called)]
    if kind == "tool.execution_complete":
        return [_result(data)]
    return []


def _call(request: Object, called: set[str]) -> Call:
    identity = text_id(request.get("toolCallId"))
    if identity is not None:
        called.add(identity)
    name = name_of(first(request, ("name", "toolName")))
    return Call(name, arguments_of(request.get("arguments")), identity)


def _result(data: Object) -> Result:
    told = data.get("result")
    value = result_of(told.get("content") if isinstance(told, dict) and "content" in told else told)
    if data.get("success") is False:
        error = obj(data.get("error"))
        value = error_result(text(error.get("message")) or value)
    return Result(value, text_id(data.get("toolCallId")))


SESSION = Reader(name="copilot-cli", matches=_matches, conversations=_sessions, row=_row)
