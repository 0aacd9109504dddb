"""Which dataset follows which: chains from night to night."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

_LONGEST = 60


class Link(NamedTuple):
    """A dataset as lineage shows it."""

    id: str
    name: str
    purpose: str | None
    rows: int | None
    created_at: int
    parent_id: str | None


class Chain(NamedTuple):
    """Datasets of which each follows the one before.

    Attributes:
        links: Oldest first; of a long chain the newest.
        left_out: Older ones that are not in `links`.
    """

    links: list[Link]
    left_out: int


def chains(datasets: Iterable[Link]) -> list[Chain]:
    """Return the chains of an account's datasets, the one that goes on latest first.

    A chain ends at a dataset that nothing follows. Where several follow one, each is the end of
    a chain of its own. A dataset without relatives is in none.
    """
    known = {link.id: link for link in datasets}
    followed = {link.parent_id for link in known.values()}
    ends = [link for link in known.values() if link.id not in followed and link.parent_id in known]
    ends.sort(key=lambda link: link.created_at, reverse=True)
    return [_chain(end, known) for end in ends]


def family(dataset_id: str, datasets: Iterable[Link]) -> tuple[Chain, list[Link]]:
    """Return the chain that ends at a dataset, and what follows it directly."""
    known = {link.id: link for link in datasets}
    children: defaultdict[str, list[Link]] = defaultdict(list)
    for link in known.values():
        if link.parent_id:
            children[link.parent_id].append(link)
    return _chain(known[dataset_id], known), children[dataset_id]


def _chain(end: Link, known: dict[str, Link]) -> Chain:
    links = [end]
    seen = {end.id}
    while (parent := known.get(links[-1].parent_id or "")) is not None and parent.id not in seen:
        links.append(parent)
        seen.add(parent.id)
    shown = links[:_LONGEST]
    return Chain(shown[::-1], len(links) - len(shown))
