"""The nearest source of every row, by cosine, over all pairs in bounded memory.

Blocks of the pair matrix are computed in float32 and only each row's maximum is kept. Whatever
lies within `_DOUBT` of a decision is settled again in float64, so that flags and maximum are
those of the full comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.traces.embedders import Matrix

_ROWS = 512
_SOURCES = 2048
_DOUBT = 1e-5  # a float32 cosine is nearer than this to the true one
_TIE = 1e-12  # what rounding may do to two equal cosines in float64


class Nearest(NamedTuple):
    """The best source of some rows: its cosine, and its position (-1 when none is above 0)."""

    similarity: NDArray[np.float64]
    source: NDArray[np.int64]


class PairSearch:
    """Compares rows with sources; built once, asked several times.

    Args:
        rows: One vector per generated text, as it came (counts, or any length).
        sources: One vector per source text, of the same width.
    """

    def __init__(self, rows: Matrix, sources: Matrix) -> None:
        self._rows = rows
        self._sources = sources
        self._unit_sources = _unit(sources)

    def maxima(self) -> NDArray[np.float32]:
        """Return each row's largest cosine, to within float32 rounding."""
        import numpy as np

        best = np.zeros(len(self._rows), dtype=np.float32)
        products = np.empty((_ROWS, _SOURCES), dtype=np.float32)
        for start in range(0, len(self._rows), _ROWS):
            block = _unit(self._rows[start : start + _ROWS])
            here = best[start : start + len(block)]
            for first in range(0, len(self._unit_sources), _SOURCES):
                against = self._unit_sources[first : first + _SOURCES]
                out = products[: len(block), : len(against)]
                np.matmul(block, against.T, out=out)
                np.maximum(here, out.max(axis=1), out=here)
        return best

    def flags(self, maxima: NDArray[np.float32], limit: float) -> NDArray[np.bool_]:
        """Tell which rows have a source with a cosine of at least `limit`."""
        import numpy as np

        flagged = maxima >= limit + _DOUBT
        doubtful = np.flatnonzero(np.abs(maxima - limit) < _DOUBT)
        if len(doubtful):
            flagged[doubtful] = self.nearest(doubtful).similarity >= limit - _TIE
        return flagged

    def largest(self, maxima: NDArray[np.float32]) -> float:
        """Return the largest cosine of all pairs in float64."""
        import numpy as np

        if not len(maxima):
            return 0.0
        top = np.flatnonzero(maxima >= maxima.max() - _DOUBT)
        return float(self.nearest(top).similarity.max())

    def nearest(self, positions: NDArray[np.int64]) -> Nearest:
        """Return the nearest source of the rows at `positions` in float64; the first wins ties."""
        import numpy as np

        vectors, places = np.unique(
            self._rows[positions].astype(np.float64), axis=0, return_inverse=True
        )
        similarity = np.zeros(len(vectors))
        source = np.full(len(vectors), -1, dtype=np.int64)
        for start in range(0, len(vectors), _ROWS):
            block = vectors[start : start + _ROWS]
            for first in range(0, len(self._sources), _SOURCES):
                against = self._sources[first : first + _SOURCES].astype(np.float64)
                cosines = _cosines(block, against)
                top = cosines.max(axis=1)
                where = (cosines >= top[:, None] - _TIE).argmax(axis=1)
                better = top > similarity[start : start + len(block)] + _TIE
                similarity[start : start + len(block)][better] = top[better]
                source[start : start + len(block)][better] = where[better] + first
        places = places.reshape(-1)
        return Nearest(np.minimum(similarity, 1.0)[places], source[places])


def group_by_leader(vectors: Matrix, limit: float) -> list[int]:
    """Give each vector the position of its leader: the nearest one before it that leads.

    A vector without a leader of at least `limit` cosine leads from then on. Leaders are settled
    in float32; memory is twice that of the vectors.
    """
    import numpy as np

    unit = _unit(vectors)
    led = np.empty_like(unit)
    leaders: list[int] = []
    groups: list[int] = []
    for start in range(0, len(unit), _ROWS):
        block = unit[start : start + _ROWS]
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
    for first in range(0, len(led), _SOURCES):
        products = block @ led[first : first + _SOURCES].T
        top = products.argmax(axis=1)
        here = products[np.arange(len(block)), top]
        better = here > best
        best[better] = here[better]
        where[better] = top[better] + first
    return best, where


def _unit(vectors: Any) -> NDArray[np.float32]:
    import numpy as np

    lengths = _squares(vectors) ** 0.5
    lengths[lengths == 0] = 1.0
    unit = np.empty(vectors.shape, dtype=np.float32)
    np.divide(vectors, lengths[:, None], out=unit, casting="same_kind")
    return unit


def _cosines(rows: NDArray[np.float64], sources: NDArray[np.float64]) -> NDArray[np.float64]:
    # Whole numbers: products and squares are exact, so equal directions give exactly 1.0.
    lengths = (_squares(rows)[:, None] * _squares(sources)[None, :]) ** 0.5
    lengths[lengths == 0] = 1.0
    cosines: NDArray[np.float64] = (rows @ sources.T) / lengths
    return cosines


def _squares(vectors: Any) -> NDArray[np.float64]:
    import numpy as np

    squares: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return squares
