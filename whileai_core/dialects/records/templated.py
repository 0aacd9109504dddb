"""Texts made by a chat template: fine-tuning tables (`text`) and rollouts (`input`, `output`).

verl dumps rollouts with `score` and `step`, mostly with the marks between the turns left out.
"""

from __future__ import annotations

from whileai_core.dialects.events import Ask
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.templates import is_templated, messages_in, unmarked_messages
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, obj, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_ASKED = ("text", "prompt", "input")
_REPLIED = ("completion", "response", "output")


def _is_rollout(record: Object) -> bool:
    return "score" in record and "step" in record and "input" in record and "output" in record


def _asked(record: Object) -> str:
    for key in _ASKED:
        if key in record:
            return text(record[key])
    return ""


def _messages(record: Object) -> list[Object]:
    """Return the turns of a record's text, the reply at its end."""
    whole = _asked(record) + next((text(record[key]) for key in _REPLIED if key in record), "")
    if is_templated(whole):
        return messages_in(whole)
    return unmarked_messages(whole) if _is_rollout(record) else []


def _matches(value: object) -> bool:
    record = obj(value)
    if not is_templated(_asked(record)) and not _is_rollout(record):
        return False
    return any(isinstance(event, Ask) for event in events_of(_messages(record)))


def _row(record: Object) -> Row | None:
    row = {key: value for key, value in record.items() if key not in (*_ASKED, *_REPLIED)}
    if _is_rollout(record):
        labels.grade(row, row.pop("score"), "score")
    return row_from_events(events_of(_messages(record)), extra=row)


RECORDS = Reader(
    name="chat-template",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset(_ASKED),
)
