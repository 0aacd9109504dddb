"""Near copies among asks, for whoever has to keep them together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces import blocks
from whileai_core.traces.copies import find_copies
from whileai_core.traces.embedders import embedding

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.traces.embedders import Matrix

DEFAULT_THRESHOLD = 0.9
_TEXTS_AT_ONCE = 4096
_DOUBT = 1e-5  # what float32 may take off a cosine


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
    return _group_by_leader(how.embed(texts), how.cosine(threshold))


def _group_by_leader(vectors: Matrix, limit: float) -> list[int]:
    """Give each vector the position of its leader: the nearest one before it that leads.

    A vector without a leader of at least `limit` cosine leads from then on. Leaders are settled
    in float32; memory is twice that of the vectors.
    """
    import numpy as np

    unit = blocks.unit(vectors)
    led = np.empty_like(unit)
    leaders: list[int] = []
    groups: list[int] = []
    for start in range(0, len(unit), blocks.ROWS):
        block = unit[start : start + blocks.ROWS]
        best, where = _nearest_leader(block, led[: len(leaders)])
        inside = block @ block.T
        leads = np.zeros(len(block), dtype=np.bool_)
        for place in range(len(block)):
            if best[place] >= limit - _DOUBT:
                groups.append(leaders[where[place]])
                continue
            near = np.where(leads, inside[place], -1.0)
            leads[place] = near.max() < limit - _DOUBT
            groups.append(start + (place if leads[place] else int(near.argmax())))
        fresh = np.flatnonzero(leads)
        led[len(leaders) : len(leaders) + len(fresh)] = block[fresh]
        leaders += (fresh + start).tolist()
    return groups


def _nearest_leader(
    block: NDArray[np.float32], led: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    import numpy as np

    best = np.full(len(block), -1.0, dtype=np.float32)
    where = np.zeros(len(block), dtype=np.int64)
    for first in range(0, len(led), blocks.SOURCES):
        products = block @ led[first : first + blocks.SOURCES].T
        top = products.argmax(axis=1)
        here = products[np.arange(len(block)), top]
        better = here > best
        best[better] = here[better]
        where[better] = top[better] + first
    return best, where
