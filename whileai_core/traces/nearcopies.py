"""Near copies among asks, for whoever has to keep them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces.copies import find_copies

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_THRESHOLD = 0.9
_AT_ONCE = 16_384  # texts and anchors that are compared at a time; bounds memory


def near_copies(
    texts: Sequence[str],
    anchors: Sequence[str],
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
) -> dict[int, int]:
    """Return, for each text that is a near copy of an anchor, the position of such an anchor.

    Memory does not grow with the number of texts and anchors. Empty texts copy nothing.

    Args:
        texts: The asks to place.
        anchors: The asks whose place is settled.
        threshold: Similarity from which a text follows an anchor.
        embedder: As for `leakage_report`; the default tells asks of one template apart.
    """
    found: dict[int, int] = {}
    for first in range(0, len(anchors), _AT_ONCE):
        block = anchors[first : first + _AT_ONCE]
        waiting = [place for place, text in enumerate(texts) if text and place not in found]
        for start in range(0, len(waiting), _AT_ONCE):
            places = waiting[start : start + _AT_ONCE]
            copies = find_copies(
                [texts[place] for place in places], block, threshold=threshold, embedder=embedder
            )
            for match in copies.matches(copies.flagged.nonzero()[0].tolist()):
                if match.source >= 0:
                    found[places[match.text]] = first + match.source
    return found
