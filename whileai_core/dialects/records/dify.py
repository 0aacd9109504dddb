"""Dify: messages of a conversation (`query`, `answer`), with what the agent did in between."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import arguments_of, result_of, text_id
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
    return {"conversation_id", "query", "answer", "agent_thoughts"} <= obj(value).keys()


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_message)


def _matches_page(value: object) -> bool:
    record = obj(value)
    return _is_message(record) or _matches(objects(record.get("data"))[:8] or [None])


def _conversations(values: Iterable[object]) -> list[list[Object]]:
    groups = grouped(filter(_is_message, map(obj, values)), "conversation_id")
    return [sorted(group, key=lambda m: sortable(m.get("created_at"))) for group in groups]


def _row(messages: list[Object]) -> Row | None:
    extra = present(
        conversation_id=text_id(messages[0].get("conversation_id")),
        ts=messages[0].get("created_at"),
    )
    return row_from_events([e for message in messages for e in _events(message)], extra=extra)


def _events(message: Object) -> list[Event]:
    events: list[Event] = [Ask(text(message.get("query")))]
    thoughts = objects(message.get("agent_thoughts"))
    for thought in sorted(thoughts, key=lambda t: sortable(t.get("position"))):
        events += _calls(thought)
    answer = text(message.get("answer"))
    return [*events, Say(answer)] if answer else events


def _calls(thought: Object) -> list[Event]:
    """Read the calls of one thought: names joined with `;`, arguments and results by name."""
    names = [name for name in text(thought.get("tool")).split(";") if name]
    given = arguments_of(thought.get("tool_input"))
    observed = decoded(thought.get("observation"))
    events: list[Event] = []
    for name in names:
        own = given.get(name, given if len(names) == 1 else {})
        events.append(Call(name, arguments_of(own)))
        value = obj(observed).get(name, observed)
        if value not in (None, ""):
            events.append(Result(result_of(value), None, name))
    return events


MESSAGES = Reader(name="dify", matches=_matches, conversations=_conversations, row=_row)
PAGE = Reader(
    name="dify",
    matches=_matches_page,
    conversations=lambda value: _conversations(objects(value.get("data")) or [value]),
    row=_row,
    markers=frozenset({"agent_thoughts", "data"}),
)
