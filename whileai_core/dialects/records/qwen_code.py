"""Qwen Code sessions: one record a line, messages as Gemini contents, linked by `parentUuid`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Event
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    count,
    grouped,
    obj,
    present,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_spoken(value: object) -> bool:
    record = obj(value)
    return "parentUuid" in record and isinstance(obj(record.get("message")).get("parts"), list)


def _is_line(value: object) -> bool:
    return _is_spoken(value) or obj(value).get("type") == "system"


def _matches(head: Sequence[object]) -> bool:
    return any(map(_is_spoken, head)) and 2 * sum(map(_is_line, head)) > len(head)


def _sessions(values: Iterable[object]) -> list[list[Object]]:
    return grouped(map(obj, values), "sessionId")


def _row(lines: list[Object]) -> Row | None:
    counts = [obj(line.get("usageMetadata")) for line in lines]
    extra = present(
        conversation_id=text_id(lines[0].get("sessionId")),
        ts=lines[0].get("timestamp"),
        cwd=text(lines[0].get("cwd")),
        model=next(filter(None, (text(line.get("model")) for line in lines)), ""),
        usage={
            "input_tokens": sum(count(c.get("promptTokenCount")) or 0 for c in counts),
            "output_tokens": sum(count(c.get("candidatesTokenCount")) or 0 for c in counts),
        }
        if any(counts)
        else None,
    )
    events: list[Event] = []
    for line in filter(_is_spoken, lines):
        events += events_of([line["message"]])
    return row_from_events(events, extra=extra)


SESSION = Reader(name="qwen-code", matches=_matches, conversations=_sessions, row=_row)
