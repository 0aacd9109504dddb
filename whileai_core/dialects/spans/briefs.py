"""The usual span as it is held until its conversation is whole: few objects, nothing read twice."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.dialects.instants import nanoseconds
from whileai_core.dialects.spans.facts import FIRST_OF
from whileai_core.dialects.spans.histories import Passage
from whileai_core.dialects.spans.identity import span_id
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, TOOL
from whileai_core.dialects.spans.reader import guess_kind, settle
from whileai_core.dialects.spans.reading import READING_OF, Reading
from whileai_core.dialects.spans.spellings import failure_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence, Set

    from whileai_core.dialects.spans.histories import History


_FACTS = frozenset(FIRST_OF)
_SAID_BY_ALL = _FACTS | {"conversation", "error"}
_CALL = ("tool_id", "tool_name", "arguments", "result")
_TOOL_NEEDS = frozenset(_CALL)
_MODEL_NEEDS = frozenset({"messages_in", "messages_out"})
_COUNTS = frozenset({"tokens_in", "tokens_out", "response_id"})


def facts_in(at: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    """Return `Plan.facts` for these fields."""
    return tuple((field, index) for field, index in at.items() if field in _FACTS)


def call_in(at: Mapping[str, int]) -> Callable[[list[Any]], tuple[Any, ...]] | None:
    """Return `Plan.call` for these fields."""
    return itemgetter(*map(at.__getitem__, _CALL)) if at.keys() >= _TOOL_NEEDS else None


def part_in(kind: str, fields: Set[str]) -> str:
    """Return the part of a span of this kind with these fields: see `Brief.part`."""
    own = fields - _SAID_BY_ALL
    if kind == MODEL and _MODEL_NEEDS <= own <= _MODEL_NEEDS | _COUNTS:
        return MODEL
    if kind == TOOL and _TOOL_NEEDS <= own <= _TOOL_NEEDS | {"tool_status"}:
        return TOOL
    return AGENT if kind in (AGENT, CHAIN) and not own else ""


class Plan(NamedTuple):
    """What to read of spans with one list of attribute names.

    A plan names the attributes that count if none of them is blank; if one is, another may.

    Attributes:
        kind: Place in the list of the attribute that names the kind, -1 for none.
        kinds: Its values and what they mean: kind, and `Brief.part`.
        texts, ints: Take the attributes with texts and with integers out of the list; None if
            there are no integers.
        others: Places in the list of the other values.
        rewards: Place and name of attributes that may hold the reward, by precedence.
        fields: Fields of `Reading` that the values are for: texts, integers, others.
        at: The same, field to index.
        conversation: Index of the value that names the conversation, -1 for none.
        asked, answered: Index of the messages given to a model and of those it gave; -1 if they
            are no texts.
        facts: Field and index of the values that a row takes from the first span to say them.
        tokens: Indices of the tokens that went in and came out, -1 for none.
        call: Takes call id, tool, arguments and result out of the values; None if one is missing.
    """

    kind: int
    kinds: Mapping[str, tuple[str, str]]
    texts: Callable[[list[Any]], Sequence[Any]]
    ints: Callable[[list[Any]], Sequence[Any]] | None
    others: tuple[int, ...]
    rewards: tuple[tuple[int, str], ...]
    fields: tuple[str, ...]
    at: Mapping[str, int]
    conversation: int
    asked: int
    answered: int
    facts: tuple[tuple[str, int], ...]
    tokens: tuple[int, int]
    call: Callable[[list[Any]], tuple[Any, ...]] | None


class Brief(NamedTuple):
    """A usual span by its plan; ids of spans and the end as written.

    Attributes:
        part: What it is in a straight conversation: MODEL, TOOL, AGENT for a frame that only
            names itself, or "" if it says more than any of these.
        values: By `plan.fields`. The messages a model was given are None if `history` holds them,
            those it gave are a `Passage` while a later history holds them.
        reward: The reward and the attribute that held it.
    """

    start: int
    end: Any
    trace: str
    span: Any
    parent: Any
    name: str
    status: Any
    kind: str
    part: str
    conversation: Any
    history: History | None
    reward: tuple[int | float, str] | None
    plan: Plan
    values: list[Any]

    def repeated_in(self, later: History) -> None:
        """Keep no copy of what the model gave if a later history repeats it."""
        at = self.plan.answered
        if at >= 0 and self.history is not None:
            passage = later.passage(self.history, self.values[at])
            if passage is not None:
                self.values[at] = passage

    def reading(self) -> Reading:
        """Return the same as a reading."""
        failed, message = failure_in(self.status) if self.status else (False, "")
        reading = READING_OF.get(self.kind, Reading)(
            self.trace,
            span_id(self.span),
            span_id(self.parent),
            self.start,
            nanoseconds(self.end),
            self.name,
            failed,
            message,
        )
        for field, value in zip(self.plan.fields, self.values, strict=True):
            if value is not None:
                # Not by __dict__: while that is not asked for, instances share their keys.
                setattr(reading, field, value.text if type(value) is Passage else value)
        if self.kind:
            reading.kind = self.kind
        else:
            guess_kind(reading)
        if self.history is not None:
            reading.messages_in = self.history.text
        settle(reading)
        if self.history is not None:
            reading.history = self.history  # which shares its text with others
        if self.reward is not None:
            reading.reward, reading.reward_source = self.reward
        return reading
