"""Preference data: pairs of a reply that was preferred and one that was not, and judged replies.

A pair is one row: the preferred reply is read, the other stays beside it as it was. To be preferred
is no pass and to be passed over no failure, so neither becomes a reward; marks on a scale become
scores. A reply with a verdict of its own (`label` true or false) is graded by it.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whileai_core.dialects.events import Ask, Event, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, decoded, obj
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


class _Pair(NamedTuple):
    """The key of the preferred reply and of the other one."""

    preferred: str
    other: str


_PAIRS = (
    _Pair("chosen", "rejected"),
    _Pair("preferred_output", "non_preferred_output"),
    _Pair("chosen_response", "rejected_response"),
)
_ARENA = _Pair("conversation_a", "conversation_b")
_ASKED = ("prompt", "input", "instruction", "question", "conversations", "messages", "context")
_TURN = re.compile(r"(?:\A|\n\n)(Human|Assistant|H|A): ?")


def _matches(value: object) -> bool:
    record = obj(value)
    pair = _pair(record)
    if pair is not None:
        return _is_answer(record, record.get(pair.preferred))
    return isinstance(record.get("label"), bool) and {"prompt", "completion"} <= record.keys()


def _is_answer(record: Object, reply: object) -> bool:
    """Tell whether a text answers something; other choices than of replies are noted alike."""
    if not isinstance(reply, str):
        return bool(output_events(reply))
    asked = _asked(record)
    return isinstance(asked[-1], Ask) if asked else bool(_TURN.match(reply))


def _row(record: Object) -> Row | None:
    pair = _pair(record)
    asked = _asked(record)
    reply = record.get(pair.preferred) if pair else record.get("completion")
    given = _replied(reply, output_events)
    shared = _shared(asked, given)
    extra = {key: value for key, value in record.items() if key not in ("prompt", "steps")}
    row = row_from_events(asked + given[shared:], extra=extra)
    if pair:
        labels.score(row, "chosen", record.get("score_chosen"))
        labels.score(row, "rejected", record.get("score_rejected"))
    else:
        labels.grade(row, record.get("label"), "label")
    return row


def _pair(record: Object) -> _Pair | None:
    for pair in _PAIRS:
        if pair.preferred in record and pair.other in record:
            return pair
    if _ARENA.preferred not in record or _ARENA.other not in record:
        return None
    better = str(record.get("winner", "")).strip().lower()
    return _Pair(*reversed(_ARENA)) if better in ("model_b", "b") else _ARENA


def _asked(record: Object) -> list[Event]:
    """Return what both replies answer; an instruction may have what it is about beside it."""
    for key in _ASKED:
        events = _replied(record.get(key), input_events)
        if not events:
            continue
        about = record.get("input")
        if key == "instruction" and isinstance(about, str) and about.strip():
            return [Ask(f"{record[key]}\n{about}")]
        return events
    return []


def _replied(value: Any, read: Any) -> list[Event]:
    if isinstance(value, str) and _TURN.match(value):
        return _transcript(value)
    spelled = decoded(value)
    events = events_of(spelled) if isinstance(spelled, list | dict) else []
    return events or read(value)


def _transcript(text: str) -> list[Event]:
    """Read turns written one under the other: `Human: …`, `Assistant: …`."""
    pieces = _TURN.split(text)[1:]
    turns = zip(pieces[::2], pieces[1::2], strict=True)
    speakers = ((Ask if who.startswith("H") else Say, said.strip()) for who, said in turns)
    return [speaker(said) for speaker, said in speakers if said]


def _shared(asked: list[Event], given: list[Event]) -> int:
    """Return how much of the reply repeats what was asked; a system prompt may be in one alone."""
    turns = [event for event in asked if isinstance(event, Ask | Say)]
    if not turns:
        return 0
    for start in range(min(2, len(given))):
        end = start + len(turns)
        if given[start:end] == turns:
            return end
    return 0


RECORDS = Reader(
    name="preferences",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"label", _ARENA.preferred, *(pair.preferred for pair in _PAIRS)}),
)
