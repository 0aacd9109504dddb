"""The quick way for the usual span: from OTLP/JSON to its reading, by a plan.

Spans of one producer carry the same few lists of attribute names. What has to be read for such a
list is worked out once, so that a span costs one look-up and the values that are wanted: no
object for the span, no object of its attributes. Spans that ask for more (events, lists spread
over attribute names, a family that unwraps what its producer wraps) take the long way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.dialects.instants import nanoseconds
from whileai_core.dialects.spans.identity import span_id, trace_id
from whileai_core.dialects.spans.reader import guess_kind, settle, take_reward
from whileai_core.dialects.spans.reading import READING_OF, Reading
from whileai_core.dialects.spans.slots import SLOTS
from whileai_core.dialects.spans.spellings import failure_in
from whileai_core.sources.otlp import listed_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_MOST_PLANS = 5_000
_MOST_TEXTS = 5_000
# Values that come again with every span of an agent: one copy of each will do.
_REPEATED = frozenset({"agent", "conversation", "model", "model_version", "tool_name"})


class _Plan(NamedTuple):
    """What to read of spans with one list of attribute names; indices are places in the list.

    A plan names the attributes that count if none of them is blank; if one is, another may.

    Attributes:
        kind: Index of the attribute that names the kind, -1 for none.
        kinds: Its values and what they mean.
        repeated: Index and field of values that come again and again.
        single: Index and field of the other values.
        rewards: Index and name of attributes that may hold the reward, by precedence.
    """

    kind: int
    kinds: Mapping[str, str]
    repeated: tuple[tuple[int, str], ...]
    single: tuple[tuple[int, str], ...]
    rewards: tuple[tuple[int, str], ...]


class UsualSpans:
    """Reads the usual spans of one collection; texts that repeat are held once."""

    def __init__(self, reward_keys: Sequence[str]) -> None:
        self._reward_keys = reward_keys
        self._plans: dict[tuple[str, ...], _Plan | None] = {}
        self._traces: dict[str, str] = {}
        self._parents: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def read(self, raw: dict[str, Any]) -> Reading | None:
        """Return what an OTLP/JSON span says, or None when it has to be read the long way."""
        try:
            return self._read(raw)
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not as OTLP/JSON writes spans

    def _read(self, raw: dict[str, Any]) -> Reading | None:
        attributes = raw["attributes"]
        if type(attributes) is not list or raw.get("events"):
            return None
        keys = tuple([entry["key"] for entry in attributes])
        try:
            plan = self._plans[keys]
        except KeyError:
            plan = self._planned(keys)
        if plan is None:
            return None
        kind = ""
        if plan.kind >= 0:
            kind = plan.kinds[attributes[plan.kind]["value"]["stringValue"]]
        reading = self._begun(raw, READING_OF.get(kind, Reading))
        if reading is None or not self._take_fields(attributes, plan, reading):
            return None
        if kind:
            reading.kind = kind
        else:
            guess_kind(reading)
        settle(reading)
        for index, key in plan.rewards:
            if take_reward(key, listed_value(attributes[index]["value"]), reading):
                break
        return reading

    def _begun(self, raw: dict[str, Any], make: type[Reading]) -> Reading | None:
        trace, parent, name = raw["traceId"], raw.get("parentSpanId", ""), raw["name"]
        if type(name) is not str:
            return None
        failed, message = False, ""
        status = raw.get("status")
        if status:
            failed, message = failure_in(status)
        return make(
            self._traces.get(trace) or self._known(trace, self._traces, trace_id),
            span_id(raw["spanId"]),
            self._parents.get(parent) or self._known(parent, self._parents, span_id),
            nanoseconds(raw["startTimeUnixNano"]),
            nanoseconds(raw["endTimeUnixNano"]),
            self._texts.setdefault(name, name),
            failed,
            message,
        )

    def _take_fields(self, attributes: list[Any], plan: _Plan, reading: Reading) -> bool:
        """Put the values that are wanted into their fields; tell whether none is blank or odd."""
        once = self._texts.setdefault
        for index, field in plan.repeated:
            text = attributes[index]["value"]["stringValue"]
            if not text:
                return False
            setattr(reading, field, once(text, text))
        for index, field in plan.single:
            value = attributes[index]["value"]
            value = value["stringValue"] if "stringValue" in value else listed_value(value)
            if value is None or value == "":
                return False
            # Not by __dict__: while that is not asked for, instances share their keys.
            setattr(reading, field, value)
        return True

    def shared(self, reading: Reading) -> Reading:
        """Hold the texts of a reading that come again with every span once, and return it."""
        once = self._texts.setdefault
        reading.trace = once(reading.trace, reading.trace)
        reading.parent = once(reading.parent, reading.parent)
        reading.name = once(reading.name, reading.name)
        if type(reading.conversation) is str:
            reading.conversation = once(reading.conversation, reading.conversation)
        return reading

    def _known(self, raw: Any, known: dict[str, str], read: Callable[[object], str]) -> str:
        for texts in (self._traces, self._parents, self._texts):
            if len(texts) > _MOST_TEXTS:  # what repeats is near
                texts.clear()
        identifier = read(raw)
        if type(raw) is str:
            known[raw] = identifier
        return identifier

    def _planned(self, keys: tuple[str, ...]) -> _Plan | None:
        plan = _plan_of(keys, self._reward_keys)
        if len(self._plans) < _MOST_PLANS:
            self._plans[keys] = plan
        return plan


def _plan_of(keys: tuple[str, ...], reward_keys: Sequence[str]) -> _Plan | None:
    """Return what to read of spans with these attributes, None when they ask for the long way."""
    if len(set(keys)) < len(keys):
        return None
    best: dict[str, tuple[int, int]] = {}  # field to rank and index
    kinds: Mapping[str, str] = {}
    for index, key in enumerate(keys):
        slot = SLOTS[key]
        if slot is None:
            continue
        if slot.is_odd:
            return None
        if slot.field in best and best[slot.field][0] < slot.rank:
            continue
        if slot.kinds:
            kinds = slot.kinds
        best[slot.field] = (slot.rank, index)
    return _Plan(
        best.pop("kind", (0, -1))[1],
        kinds,
        tuple((index, field) for field, (_, index) in best.items() if field in _REPEATED),
        tuple((index, field) for field, (_, index) in best.items() if field not in _REPEATED),
        tuple((keys.index(key), key) for key in reward_keys if key in keys),
    )
