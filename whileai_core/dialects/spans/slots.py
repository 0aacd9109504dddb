"""The families' declarations as one table: attribute name to where its value goes."""

from __future__ import annotations

import re
from collections.abc import Mapping

from whileai_core.dialects.spans.families import FAMILIES
from whileai_core.dialects.spans.families.family import Family

_INDEX = re.compile(r"\.\d+(\.|$)")


class Slot:
    """Where one attribute goes.

    Attributes:
        field: Field of `Reading`; "" is none.
        rank: Precedence among the attributes of one field, the smallest first.
        kinds: Of the field `kind`: the values and what they mean.
        prefix: Of a list spread over indices: the name before the first index.
        target: Of such a list: its field.
        finish: The family whose `finish` this attribute asks for.
        is_odd: Whether the value needs more than to be put into its field.
    """

    __slots__ = ("field", "finish", "is_odd", "kinds", "prefix", "rank", "target")

    def __init__(
        self,
        field: str = "",
        rank: int = 0,
        kinds: Mapping[str, str] | None = None,
        finish: Family | None = None,
        prefix: str = "",
        target: str = "",
    ) -> None:
        self.field = field
        self.rank = rank
        self.kinds = kinds or {}
        self.finish = finish
        self.prefix = prefix
        self.target = target
        self.is_odd = bool(finish or target)


class _Slots(dict[str, "Slot | None"]):
    """Attribute name to slot; what is no fixed name is worked out once and remembered."""

    _MOST_REMEMBERED = 20_000

    def __missing__(self, key: str) -> Slot | None:
        slot = _pattern_slot(key)
        if len(self) < self._MOST_REMEMBERED:
            self[key] = slot
        return slot


def _pattern_slot(key: str) -> Slot | None:
    """Return the slot of an attribute spread over indices, or that a family finishes by prefix."""
    finish = next((family for family in FAMILIES if _finishes(family, key)), None)
    match = _INDEX.search(key)
    if match is not None:
        prefix = key[: match.start()]
        for family in FAMILIES:
            target = family.indexed.get(prefix)
            if target is not None:
                return Slot(finish=finish, prefix=prefix, target=target)
    return Slot(finish=finish) if finish is not None else None


def _finishes(family: Family, key: str) -> bool:
    return any(key.startswith(mark) for mark in family.finish_on if mark.endswith("."))


def _table() -> _Slots:
    slots = _Slots()
    ranks: dict[str, int] = {}
    for family in FAMILIES:
        for field, keys in family.fields.items():
            for key in keys:
                if key not in slots:
                    ranks[field] = ranks.get(field, -1) + 1
                    slots[key] = Slot(field, ranks[field])
        for key, kinds in family.kinds.items():
            ranks["kind"] = ranks.get("kind", -1) + 1
            slots[key] = Slot("kind", ranks["kind"], kinds)
    for family in FAMILIES:
        for key in tuple(slots) + family.finish_on:
            if key in family.finish_on or _finishes(family, key):
                slots[key] = _finished(slots.get(key) or Slot(), family)
    return slots


def _finished(slot: Slot, family: Family) -> Slot:
    return Slot(slot.field, slot.rank, slot.kinds, family)


SLOTS = _table()
KINDS_BY_NAME = {name: kind for family in FAMILIES for name, kind in family.names.items()}
EVENT_READERS = {name: read for family in FAMILIES for name, read in family.events.items()}
_CONVERSATIONS = sorted(
    (slot.rank, key, slot.is_odd)
    for key, slot in SLOTS.items()
    if slot is not None and slot.field == "conversation"
)
# Attributes that hold the conversation id, by precedence; and those of which a family has to say
# whether they do.
CONVERSATION_KEYS = tuple(key for _, key, _ in _CONVERSATIONS)
UNSURE_CONVERSATION_KEYS = tuple(key for _, key, is_odd in _CONVERSATIONS if is_odd)
