"""Near copies among asks, for whoever has to keep them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces.copies import find_copies

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.9
_TEXTS_AT_ONCE = 1 << 16  # the anchors are embedded again for each block


def near_copies(
    texts: Sequence[str],
    anchors: Sequence[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
) -> dict[int, int]:
    """Return, for each text that is a near copy of an anchor, the position of the nearest one.

    Memory is that of the vectors of all anchors and of a block of texts. Empty texts copy nothing.

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
