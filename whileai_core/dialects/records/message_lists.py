"""Records of no known producer whose conversation is a list of messages under a telling key."""

from __future__ import annotations

from whileai_core.dialects.events import Instruct
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, decoded, obj
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KEYS = (
    "trajectory", "conversation", "conversations", "history", "chat_history", "dialogue", "dialog",
    "transcript", "turns", "chat",
)  # fmt: skip
# A row that already has these is read by its own rules.
_CANONICAL = frozenset({"steps", "tool_trace", "messages"})


def _matches(value: object) -> bool:
    record = obj(value)
    return _CANONICAL.isdisjoint(record) and _key(record) is not None


def _key(record: Object) -> str | None:
    for key in _KEYS:
        listed = decoded(record.get(key)) if key in record else None
        if isinstance(listed, list) and any(
            not isinstance(event, Instruct) for event in events_of(listed[:3])
        ):
            return key
    return None


def _row(record: Object) -> Row | None:
    key = _key(record)
    if key is None:
        return None
    extra = {name: value for name, value in record.items() if name not in (key, "reward")}
    if "reward" in record:
        labels.grade(extra, record["reward"], "reward")
    return row_from_events(events_of(decoded(record[key])), extra=extra)


RECORDS = Reader(
    name="messages",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset(_KEYS),
)
