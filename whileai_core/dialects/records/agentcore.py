"""Bedrock AgentCore Memory: events of a session, whose `payload` holds `conversational` turns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    grouped,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_event(value: object) -> bool:
    record = obj(value)
    parts = objects(record.get("payload"))
    return {"eventId", "sessionId"} <= record.keys() and any("conversational" in p for p in parts)


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_event)


def _sessions(values: Iterable[object]) -> list[list[Object]]:
    """Return the events of each session in time order; the API lists the newest first."""
    sessions = grouped(filter(_is_event, map(obj, values)), "sessionId")
    return [sorted(session, key=_time) for session in sessions]


def _time(event: Object) -> str:
    return sortable(event.get("eventTimestamp"))


def _row(events: list[Object]) -> Row | None:
    turns = [
        obj(part.get("conversational")) for event in events for part in objects(event["payload"])
    ]
    extra = present(
        conversation_id=text_id(events[0].get("sessionId")),
        actor=text(events[0].get("actorId")),
        ts=events[0].get("eventTimestamp"),
    )
    return row_from_events(events_of([_message(turn) for turn in turns]), extra=extra)


def _message(turn: Object) -> Object:
    content = turn.get("content")
    return {"role": turn.get("role"), "content": obj(content).get("text", content)}


EVENTS = Reader(name="agentcore-memory", matches=_matches, conversations=_sessions, row=_row)
PAGE = Reader(
    name="agentcore-memory",
    matches=lambda value: _is_event(value) or any(map(_is_event, objects(value.get("events"))[:3])),
    conversations=lambda value: _sessions(objects(value.get("events")) or [value]),
    row=_row,
    markers=frozenset({"events", "payload"}),
)
