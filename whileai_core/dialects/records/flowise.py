"""Flowise: chat messages as its API lists them, `userMessage` and `apiMessage` by session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import arguments_of, name_of, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
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


def _is_message(value: object) -> bool:
    record = obj(value)
    return "chatflowid" in record and record.get("role") in ("userMessage", "apiMessage")


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_message)


def _sessions(values: Iterable[object]) -> list[list[Object]]:
    sessions = grouped(filter(_is_message, map(obj, values)), "sessionId")
    return [sorted(session, key=lambda m: sortable(m.get("createdDate"))) for session in sessions]


def _row(messages: list[Object]) -> Row | None:
    extra = present(
        conversation_id=text_id(messages[0].get("sessionId")),
        ts=messages[0].get("createdDate"),
    )
    return row_from_events([e for message in messages for e in _events(message)], extra=extra)


def _events(message: Object) -> list[Event]:
    said = text(message.get("content"))
    if message["role"] == "userMessage":
        return [Ask(said)]
    events: list[Event] = []
    for used in objects(decoded(message.get("usedTools"))):
        name = name_of(used.get("tool"))
        events.append(Call(name, arguments_of(used.get("toolInput"))))
        if used.get("toolOutput") is not None:
            events.append(Result(result_of(used["toolOutput"]), None, name))
    return [*events, Say(said)] if said else events


MESSAGES = Reader(name="flowise", matches=_matches, conversations=_sessions, row=_row)
