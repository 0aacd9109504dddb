"""pi coding agent (and OpenClaw, which writes the same): session files, versions 1 to 3.

Entries form a tree; the conversation is the branch that ends in the last entry, as the program
itself resumes it. Version 1 has no ids and is linear.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, count, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


class _Session(NamedTuple):
    header: Object
    entries: list[Object]


def _matches(head: Sequence[object]) -> bool:
    if not head:
        return False
    header = obj(head[0])
    return header.get("type") == "session" and "id" in header and "cwd" in header


def _sessions(lines: Iterable[object]) -> list[_Session]:
    sessions: list[_Session] = []
    for line in map(obj, lines):
        if line.get("type") == "session":
            sessions.append(_Session(line, []))
        elif sessions:
            sessions[-1].entries.append(line)
    return sessions


def _row(session: _Session) -> Row | None:
    entries = _branch(session)
    messages = [obj(e.get("message")) for e in entries if e.get("type") == "message"]
    models = (text(first(obj(e), ("modelId", "model"))) for e in [*entries, session.header])
    said_by = (text(message.get("model")) for message in messages)
    extra = present(
        conversation_id=text_id(session.header.get("id")),
        ts=text(session.header.get("timestamp")),
        model=next(filter(None, said_by), "") or next(filter(None, models), ""),
        usage=_usage(messages),
    )
    return row_from_events([e for m in messages for e in _events(m)], extra=extra)


def _branch(session: _Session) -> list[Object]:
    """Return the branch of the last entry; all entries when their chain is not whole."""
    entries = session.entries
    by_id = {identity: e for e in entries if (identity := text_id(e.get("id")))}
    if len(by_id) < len(entries) or not entries:
        return entries
    kept: set[str] = set()
    place = text_id(entries[-1].get("id"))
    while place is not None and place in by_id and place not in kept:
        kept.add(place)
        place = text_id(by_id[place].get("parentId"))
    if place is not None and place != session.header.get("id"):
        return entries
    return [entry for entry in entries if text_id(entry.get("id")) in kept]


def _events(message: Object) -> list[Event]:
    role = message.get("role")
    if role == "toolResult":
        value = result_of(message.get("content"))
        if message.get("isError") is True:
            value = error_result(value)
        name = text(message.get("toolName")) or None
        return [Result(value, text_id(message.get("toolCallId")), name)]
    if role == "assistant":
        return _assistant_events(message)
    # Other roles (`bashExecution`, `custom`, summaries) are the program's, not a turn.
    return events_of([message]) if role == "user" else []


def _assistant_events(message: Object) -> list[Event]:
    content = message.get("content")
    if not isinstance(content, list):
        return events_of([message])
    events: list[Event] = []
    texts: list[object] = []
    for block in objects(content):
        if block.get("type") == "toolCall":
            events += events_of([{"role": "assistant", "content": texts}]) if texts else []
            texts = []
            given = arguments_of(block.get("arguments"))
            events.append(Call(name_of(block.get("name")), given, text_id(block.get("id"))))
        else:
            texts.append(block)
    return events + (events_of([{"role": "assistant", "content": texts}]) if texts else [])


def _usage(messages: list[Object]) -> Object | None:
    counts = [obj(m.get("usage")) for m in messages if isinstance(m.get("usage"), dict)]
    if not counts:
        return None
    return {
        "input_tokens": sum(count(c.get("input")) or 0 for c in counts),
        "output_tokens": sum(count(c.get("output")) or 0 for c in counts),
    }


SESSION = Reader(name="pi", matches=_matches, conversations=_sessions, row=_row)
