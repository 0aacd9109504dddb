"""Which spans belong together, over shards and nights: traces and conversation ids joined up.

A span names its trace and perhaps its conversation. Two spans belong together when a chain of
shared traces and shared conversation ids links them; the ledger says which earlier shards hold
spans on such a chain, so that a late span completes its conversation instead of starting one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.ingest.ledger import Ledger


class Links:
    """Joins traces and conversation ids into groups (union-find)."""

    def __init__(self) -> None:
        self._parent: dict[str, str] = {}

    def join(self, trace: str, conversation: str) -> None:
        """Record that a span of this trace names this conversation; either may be empty."""
        names = _names(trace, conversation)
        for name in names:
            self._parent.setdefault(name, name)
        if len(names) == 2:
            first, second = self._find(names[0]), self._find(names[1])
            if first != second:
                self._parent[max(first, second)] = min(first, second)

    def group(self, trace: str, conversation: str) -> str | None:
        """Return the group of a span, or None when nothing links it to any."""
        names = _names(trace, conversation)
        if not names or names[0] not in self._parent:
            return None
        return self._find(names[0])

    @property
    def traces(self) -> set[str]:
        """All traces joined so far."""
        return {name[2:] for name in self._parent if name.startswith("t:")}

    @property
    def conversations(self) -> set[str]:
        """All conversation ids joined so far."""
        return {name[2:] for name in self._parent if name.startswith("c:")}

    def _find(self, name: str) -> str:
        root = name
        while self._parent[root] != root:
            root = self._parent[root]
        while self._parent[name] != root:
            self._parent[name], name = root, self._parent[name]
        return root


def earlier_shards(links: Links, ledger: Ledger) -> set[str]:
    """Return the shards of earlier nights that hold spans of the given groups; extends `links`.

    Follows the chain until nothing new turns up: a trace leads to its conversation, that to the
    conversation's other traces, and so on.
    """
    shards: set[str] = set()
    seen_traces: set[str] = set()
    seen_conversations: set[str] = set()
    while True:
        traces = links.traces - seen_traces
        conversations = links.conversations - seen_conversations
        if not traces and not conversations:
            return shards
        seen_traces |= traces
        seen_conversations |= conversations
        found = ledger.span_shards("trace", sorted(traces))
        found += ledger.span_shards("conversation", sorted(conversations))
        _join_all(links, found)
        shards.update(shard for _, _, shard in found)


def _join_all(links: Links, found: Iterable[tuple[str, str, str]]) -> None:
    for trace, conversation, _ in found:
        links.join(trace, conversation)


def _names(trace: str, conversation: str) -> list[str]:
    return [
        *([f"t:{trace}"] if trace else []),
        *([f"c:{conversation}"] if conversation else []),
    ]
