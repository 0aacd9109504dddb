"""Who runs inside whom, within one conversation."""

from __future__ import annotations

from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING

from whileai_core.dialects.spans.kinds import AGENT, OTHER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.dialects.spans.reading import Reading

_by_start = attrgetter("start")


class Tree:
    """The spans of one conversation by parent.

    Attributes:
        ordered: The spans by start; of those that start together the outer ones first.
        aside: Ids of the spans that run inside a tool call, or inside a span that is none of
            the conversation (a judge, a retriever): what is said there is not said to the user.
    """

    def __init__(self, group: Sequence[Reading]) -> None:
        self._by_span = {reading.span: reading for reading in group if reading.span}
        self._around: dict[str, tuple[str, ...]] = {"": ()}
        self.ordered = self._sorted(group)
        self.aside = self._inside_asides(group)

    def around(self, reading: Reading) -> tuple[str, ...]:
        """Return the ids of the spans around one, innermost first; a cycle ends the walk."""
        known = self._around.get(reading.parent)
        if known is not None:
            return known
        chain: list[str] = []
        seen = {reading.span}
        above = self._by_span.get(reading.parent)
        while above is not None and above.span not in seen:
            chain.append(above.span)
            seen.add(above.span)
            above = self._by_span.get(above.parent)
        found = tuple(chain)
        if above is None:  # in a cycle the answer depends on where one starts
            self._around[reading.parent] = found
        return found

    def agent_around(self, reading: Reading) -> str:
        """Return the name of the innermost agent around a span that is an aside itself, or ""."""
        for span in self.around(reading):
            outer = self._by_span[span]
            if span in self.aside and outer.kind == AGENT and isinstance(outer.agent, str):
                return outer.agent
        return ""

    def _sorted(self, group: Sequence[Reading]) -> list[Reading]:
        ordered = sorted(group, key=_by_start)
        if any(earlier.start == later.start for earlier, later in pairwise(ordered)):
            ordered.sort(key=lambda r: (r.start, len(self.around(r)), r.span, r.trace))
        return ordered

    def _inside_asides(self, group: Sequence[Reading]) -> set[str]:
        parents = {reading.parent for reading in group}
        asides = {
            reading.span
            for reading in group
            if reading.span in parents and (reading.is_tool or reading.kind == OTHER)
        }
        if not asides:
            return set()
        return {reading.span for reading in group if not asides.isdisjoint(self.around(reading))}
