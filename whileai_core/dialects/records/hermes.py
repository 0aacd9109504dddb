"""Hermes agent (Nous Research): session objects, their line form, and saved trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_META = "session_meta"


class _Session(NamedTuple):
    record: Object
    messages: list[Object]


def _matches(value: object) -> bool:
    record = obj(value)
    if isinstance(record.get("messages"), list):
        return "platform" in record and ("session_id" in record or "session_start" in record)
    return isinstance(record.get("conversations"), list) and "completed" in record


def _sessions(value: object) -> list[_Session]:
    record = obj(value)
    return [_Session(record, objects(first(record, ("messages", "conversations"))))]


def _of_file(lines: Iterable[object]) -> list[_Session]:
    """Read one message a line; the first line is the head of the session."""
    records = [obj(line) for line in lines]
    head = next((r for r in records if r.get("role") == _META), {})
    return [_Session(head, [r for r in records if r.get("role") != _META])]


def _row(session: _Session) -> Row | None:
    record, messages = session
    row = kept(record, "tools", "platform", "prompt_index") | present(
        conversation_id=text_id(first(record, ("session_id", "id"))),
        model=text(record.get("model")),
        ts=text(first(record, ("session_start", "timestamp"))),
        system=text(record.get("system_prompt")),
        usage=usage(record.get("input_tokens"), record.get("output_tokens")),
    )
    if isinstance(record.get("completed"), bool):
        labels.score(row, "completed", record["completed"])
    return row_from_events(events_of(messages), extra=row)


def _matches_lines(head: Sequence[object]) -> bool:
    return bool(head) and obj(head[0]).get("role") == _META and len(head) > 1


SESSION = Reader(
    name="hermes",
    matches=_matches,
    conversations=_sessions,
    row=_row,
    markers=frozenset({"platform", "completed"}),
)
LINES = Reader(name="hermes", matches=_matches_lines, conversations=_of_file, row=_row)
