"""The quick way for the usual span: from OTLP/JSON to what is held of it, by a plan.

Spans of one producer carry the same few lists of attribute names. What has to be read for such a
list is worked out once, so that a span costs one look-up and the values that are wanted: no
object for the span, no object of its attributes. Spans that ask for more (events, lists spread
over attribute names, a family that unwraps what its producer wraps) take the long way.
"""

from __future__ import annotations

from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.briefs import Brief, Plan, call_in, facts_in, part_in
from whileai_core.dialects.spans.histories import history_of
from whileai_core.dialects.spans.identity import trace_id
from whileai_core.dialects.spans.reader import reward_in
from whileai_core.dialects.spans.slots import SLOTS
from whileai_core.sources.otlp import listed_value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from whileai_core.dialects.spans.reading import Reading

_MOST_PLANS = 5_000
_MOST_TEXTS = 5_000
_key_of = itemgetter("key")
_value_of = itemgetter("value")
_text_of = itemgetter("stringValue")
_whole_of = itemgetter("intValue")
_WHOLE = (str, int)  # how a whole number is written
_new = tuple.__new__  # a third of the cost of calling a named tuple


class UsualSpans:
    """Reads the usual spans of one collection; texts that repeat are held once."""

    def __init__(self, reward_keys: Sequence[str]) -> None:
        self._reward_keys = reward_keys
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._unplanned: set[tuple[str, ...]] = set()
        self._traces: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def read(self, raw: Any) -> Brief | None:
        """Return what an OTLP/JSON span says, or None when it has to be read the long way."""
        try:
            attributes, start = raw["attributes"], raw["startTimeUnixNano"]
            trace, name, parent = raw["traceId"], raw["name"], raw.get("parentSpanId", "")
            keys = tuple(map(_key_of, attributes))
            plan = self._plans.get(keys) or self._planned(keys, attributes)
            if (
                plan is None
                or type(start) not in _WHOLE
                or type(name) is not str
                or raw.get("events")
            ):
                return None
            values: list[Any] = [*map(_text_of, map(_value_of, plan.texts(attributes)))]
            if not all(values):
                return None
            if plan.ints:
                values += map(int, map(_whole_of, map(_value_of, plan.ints(attributes))))
            if plan.others and not _take_others(plan.others, attributes, values):
                return None
            kind, part = "", ""
            if plan.kind >= 0:
                kind, part = plan.kinds[attributes[plan.kind]["value"]["stringValue"]]
            history = None
            if plan.asked >= 0:
                history = history_of(values[plan.asked])
                if history is not None:
                    values[plan.asked] = None
            once = self._texts.setdefault
            conversation = None
            if plan.conversation >= 0:
                conversation = values[plan.conversation]
                conversation = values[plan.conversation] = once(conversation, conversation)
            return _new(
                Brief,
                (
                    int(start),
                    raw["endTimeUnixNano"],
                    self._traces.get(trace) or self._known(trace),
                    raw["spanId"],
                    once(parent, parent),
                    once(name, name),
                    raw.get("status") or None,
                    kind,
                    part,
                    conversation,
                    history,
                    _reward_of(plan.rewards, attributes) if plan.rewards else None,
                    plan,
                    values,
                ),
            )
        except (LookupError, TypeError, ValueError, AttributeError):
            return None  # not as OTLP/JSON writes spans

    def shared(self, reading: Reading) -> Reading:
        """Hold the texts of a reading that come again with every span once, and return it."""
        once = self._texts.setdefault
        reading.trace = once(reading.trace, reading.trace)
        reading.parent = once(reading.parent, reading.parent)
        reading.name = once(reading.name, reading.name)
        if type(reading.conversation) is str:
            reading.conversation = once(reading.conversation, reading.conversation)
        return reading

    def _known(self, raw: Any) -> str:
        for texts in (self._traces, self._texts):
            if len(texts) > _MOST_TEXTS:  # what repeats is near
                texts.clear()
        identifier = trace_id(raw)
        if type(raw) is str:
            self._traces[raw] = identifier
        return identifier

    def _planned(self, keys: tuple[str, ...], attributes: list[Any]) -> Plan | None:
        if keys in self._unplanned:
            return None
        plan = _plan_of(keys, attributes, self._reward_keys)
        if len(self._plans) + len(self._unplanned) < _MOST_PLANS:
            if plan is None:
                self._unplanned.add(keys)
            else:
                self._plans[keys] = plan
        return plan


def _plan_of(
    keys: tuple[str, ...], attributes: list[Any], reward_keys: Sequence[str]
) -> Plan | None:
    """Return what to read of spans with these attributes, None when they ask for the long way."""
    if len(set(keys)) < len(keys):
        return None
    best: dict[str, tuple[int, int]] = {}  # field to rank and place
    kinds: Mapping[str, str] = {}
    for place, key in enumerate(keys):
        slot = SLOTS[key]
        if slot is None:
            continue
        if slot.is_odd:
            return None
        if slot.field in best and best[slot.field][0] < slot.rank:
            continue
        if slot.kinds:
            kinds = slot.kinds
        best[slot.field] = (slot.rank, place)
    kind_place = best.pop("kind", (0, -1))[1]
    fields: dict[str, list[str]] = {"stringValue": [], "intValue": [], "": []}
    for field, (_, place) in best.items():
        (wrapper,) = attributes[place]["value"]
        fields[wrapper if wrapper in fields else ""].append(field)
    if "conversation" in (*fields["intValue"], *fields[""]):
        return None  # no text, so it is not for sure that it names one
    texts, ints, others = (tuple(best[field][1] for field in group) for group in fields.values())
    at = {field: index for index, field in enumerate(chain(*fields.values()))}
    asked, answered = (
        at[field] if field in fields["stringValue"] else -1
        for field in ("messages_in", "messages_out")
    )
    return Plan(
        kind=kind_place,
        kinds={value: (kind, part_in(kind, at.keys())) for value, kind in kinds.items()},
        texts=_picker(texts),
        ints=_picker(ints) if ints else None,
        others=others,
        rewards=tuple((keys.index(key), key) for key in reward_keys if key in keys),
        fields=tuple(at),
        at=at,
        conversation=at.get("conversation", -1),
        asked=asked,
        answered=answered,
        facts=facts_in(at),
        tokens=(at.get("tokens_in", -1), at.get("tokens_out", -1)),
        call=call_in(at),
    )


def _take_others(places: Sequence[int], attributes: list[Any], values: list[Any]) -> bool:
    """Add values that are neither texts nor integers; tell whether none is blank."""
    found = [listed_value(attributes[place]["value"]) for place in places]
    values += found
    return not any(value is None or value == "" for value in found)


def _reward_of(
    rewards: Sequence[tuple[int, str]], attributes: list[Any]
) -> tuple[int | float, str] | None:
    for place, key in rewards:
        found = reward_in(listed_value(attributes[place]["value"]))
        if found is not None:
            return found, key
    return None


def _picker(places: tuple[int, ...]) -> Callable[[list[Any]], Sequence[Any]]:
    """Return what takes these places out of a list, as a sequence however many they are."""
    if len(places) > 1:
        return itemgetter(*places)
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))
