"""Near copies among asks, for whoever has to keep them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces.copies import find_copies

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.9


def near_copies(
    texts: Sequence[str],
    anchors: Sequence[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
) -> dict[int, int]:
    """Return, for each text that is a near copy of an anchor, the position of the nearest one.

    Empty texts copy nothing.

    Args:
        texts: The asks to place.
        anchors: The asks whose place is settled.
        threshold: Similarity from which a text follows an anchor.
        embedder: As for `leakage_report`. The default tells asks of one template apart, and
            holds a bounded number of vectors however many texts there are.
    """
    copies = find_copies(texts, anchors, threshold=threshold, embedder=embedder)
    flagged = [place for place in copies.flagged.nonzero()[0].tolist() if texts[place]]
    return {match.text: match.source for match in copies.matches(flagged) if match.source >= 0}
