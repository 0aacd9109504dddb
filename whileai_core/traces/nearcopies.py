"""Near copies among asks, for whoever has to keep them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces.copies import find_copies
from whileai_core.traces.embedders import embedding
from whileai_core.traces.neighbours import group_by_leader

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.9
_TEXTS_AT_ONCE = 4096


def near_copies(
    texts: Sequence[str],
    anchors: Sequence[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
) -> dict[int, int]:
    """Return, for each text that is a near copy of an anchor, the position of the nearest one.

    Memory is that of the anchors' vectors and a block of texts. Empty texts copy nothing.

    Args:
        texts: The asks to place.
        anchors: The asks whose place is settled.
        threshold: Similarity from which a text follows an anchor.
        embedder: As for `leakage_report`; the default tells asks of one template apart.
    """
    if not anchors:
        return {}
    found: dict[int, int] = {}
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        block = texts[start : start + _TEXTS_AT_ONCE]
        copies = find_copies(block, anchors, threshold=threshold, embedder=embedder)
        flagged = [place for place in copies.flagged.nonzero()[0].tolist() if block[place]]
        for match in copies.matches(flagged):
            if match.source >= 0:
                found[start + match.text] = match.source
    return found


def near_groups(
    texts: Sequence[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
) -> list[int]:
    """Group texts that are near copies of one another; return each text's group.

    A group is named by the position of its leader, its first text. Texts are taken in their order
    and join the nearest leader so far, so that a chain of small changes does not grow into one
    group. Sort the texts to be independent of their order.
    """
    if not texts:
        return []
    how = embedding(embedder)
    return group_by_leader(how.embed(texts), how.cosine(threshold))
