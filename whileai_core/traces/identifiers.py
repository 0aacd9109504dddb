"""Which sets of identifiers are alike, found without comparing all with all.

Sets are written as their sorted members with spaces between them, as `ngrams.identifiers_of`
gives them. Two sets share `s / sqrt(a * b)` when `s` of their `a` and `b` members agree: equal
sets share 1.0 (two empty ones too), sets without a common member 0.0.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_TIE = 1e-12  # what rounding may do to a share that is exactly the least


class Alike(NamedTuple):
    """Two sets of identifiers and what they share."""

    one: str
    other: str
    share: float


def alike(ones: Collection[str], others: Collection[str], least: float) -> Iterator[Alike]:
    """Yield each of `ones` with each of `others` of which it shares `least` or more (above 0).

    Sets that differ share much only when they are large: 0.95 takes ten members. Most sets are
    therefore looked up as they are; only large ones are compared, and only those with one of
    their rarest members in common.
    """
    for one in ones:
        if one in others:
            yield Alike(one, one, 1.0)
    yield from _overlapping(ones, others, least)


def _overlapping(ones: Iterable[str], others: Iterable[str], least: float) -> Iterator[Alike]:
    left, right = _large(ones, least), _large(others, least)
    if not left or not right:
        return
    frequency = Counter(
        member for sets in (left, right) for held in sets.values() for member in held
    )
    holders: dict[str, list[str]] = defaultdict(list)
    for other, members in right.items():
        for member in _rarest(members, frequency, least):
            holders[member].append(other)
    for one, members in left.items():
        seen = {one}
        for member in _rarest(members, frequency, least):
            for other in holders.get(member, ()):
                if other not in seen:
                    seen.add(other)
                    share = _share(members, right[other])
                    if share >= least - _TIE:
                        yield Alike(one, other, share)


def _share(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / math.sqrt(len(one) * len(other))


def _large(sets: Iterable[str], least: float) -> dict[str, frozenset[str]]:
    """Return the sets that share `least` with a set of one member more."""
    smallest = _square(least) / (1 - _square(least))
    return {
        written: frozenset(members)
        for written in sets
        if written and len(members := written.split(" ")) >= smallest
    }


def _rarest(members: frozenset[str], frequency: Counter[str], least: float) -> list[str]:
    """Return so many of the rarest members that one of them is in every set that is alike.

    A set that shares `least` holds `least` squared of the members, so it cannot lack them all.
    """
    kept = max(1, math.ceil(_square(least) * len(members)))
    ordered = sorted(members, key=lambda member: (frequency[member], member))
    return ordered[: len(members) - kept + 1]


def _square(least: float) -> float:
    """Return the square, a trifle smaller, so that rounding loses no pair."""
    return least * least * (1 - _TIE)
