"""Cursor agent transcripts: one `{role, message: {content}}` a line, all lines one conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Event
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)


def _is_line(value: object) -> bool:
    record = obj(value)
    return (
        record.get("role") in ("user", "assistant")
        and "type" not in record
        and "content" in obj(record.get("message"))
    )


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_line)


def _row(lines: list[Object]) -> Row | None:
    events: list[Event] = []
    for line in lines:
        message = obj(line.get("message")) | {"role": line.get("role")}
        events += [_asked(event) for event in events_of([message])]
    return row_from_events(events, extra=present(ts=text(lines[0].get("timestamp"))))


def _asked(event: Event) -> Event:
    """The user's words stand between tags, after what the editor adds."""
    found = _QUERY.search(event.text) if isinstance(event, Ask) else None
    return Ask(found.group(1)) if found else event


def _whole_file(lines: Iterable[object]) -> list[list[Object]]:
    return [[obj(line) for line in lines]]


SESSION = Reader(name="cursor", matches=_matches, conversations=_whole_file, row=_row)
