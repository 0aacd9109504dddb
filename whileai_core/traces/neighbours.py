"""The nearest source of every row, by cosine, over all pairs in bounded memory.

Most of the work is done in float32. Whatever lies within `_DOUBT` of a decision is settled again
in float64, so that flags and maximum are those of the full comparison.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whileai_core.traces import blocks, screening

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.traces.embedders import Matrix

_DOUBT = 1e-5  # a float32 cosine is nearer than this to the true one
_TIE = 1e-12  # what rounding may do to two equal cosines in float64
_SETTLED_AT_ONCE = 64


class Nearest(NamedTuple):
    """The best source of some rows: its cosine, and its position (-1 when none is above 0)."""

    similarity: NDArray[np.float64]
    source: NDArray[np.int64]


class Verdict(NamedTuple):
    """Which rows reach the limit, and the largest cosine (see `PairSearch.decide`)."""

    flagged: NDArray[np.bool_]
    largest: float


class PairSearch:
    """Compares rows with sources; built once, asked several times.

    Args:
        rows: One vector per generated text, as it came (counts, or any length).
        sources: One vector per source text, of the same width.
    """

    def __init__(self, rows: Matrix, sources: Matrix) -> None:
        self._rows = rows
        self._sources = sources
        self._unit_sources = blocks.unit(sources)

    def decide(self, limit: float, *, largest: bool = True) -> Verdict:
        """Tell which rows have a source with a cosine of at least `limit`.

        Args:
            limit: The cosine from which a row is flagged.
            largest: Whether the largest cosine of all pairs is wanted; else it is 0.0.
        """
        import numpy as np

        maxima = self._maxima(limit, largest=largest)
        flagged = maxima >= limit + _DOUBT
        doubtful = np.flatnonzero(np.abs(maxima - limit) < _DOUBT)
        if len(doubtful):
            flagged[doubtful] = self.nearest(doubtful).similarity >= limit - _TIE
        return Verdict(flagged, self._largest(maxima) if largest else 0.0)

    def nearest(self, positions: NDArray[np.int64]) -> Nearest:
        """Return the nearest source of the rows at `positions` in float64; the first wins ties."""
        import numpy as np

        vectors, places = np.unique(
            self._rows[positions].astype(np.float64), axis=0, return_inverse=True
        )
        similarity = np.zeros(len(vectors))
        source = np.full(len(vectors), -1, dtype=np.int64)
        for start in range(0, len(vectors), blocks.ROWS):
            block = vectors[start : start + blocks.ROWS]
            best = similarity[start : start + len(block)]
            where = source[start : start + len(block)]
            for first in range(0, len(self._sources), blocks.SOURCES):
                against = self._sources[first : first + blocks.SOURCES].astype(np.float64)
                cosines = _cosines(block, against)
                top = cosines.max(axis=1)
                better = top > best + _TIE
                best[better] = top[better]
                where[better] = first + (cosines >= top[:, None] - _TIE).argmax(axis=1)[better]
        places = places.reshape(-1)
        return Nearest(np.minimum(similarity, 1.0)[places], source[places])

    def _maxima(self, limit: float, *, largest: bool) -> NDArray[np.float32]:
        """Return each row's largest cosine in float32, or 0 where it can decide nothing."""
        import numpy as np

        if not screening.pays(self._rows, self._sources):
            return self._full_maxima(np.arange(len(self._rows)))
        bounds = screening.upper_bounds(self._rows, self._unit_sources)
        alive = bounds >= limit - screening.SLACK
        maxima = np.zeros(len(bounds), dtype=np.float32)
        maxima[alive] = self._full_maxima(np.flatnonzero(alive))
        if largest:
            # The bar is what was found so far; rows whose bound passes it may still raise it.
            waiting = np.flatnonzero(~alive)
            waiting = waiting[np.argsort(-bounds[waiting], kind="stable")]
            for start in range(0, len(waiting), blocks.ROWS):
                block = waiting[start : start + blocks.ROWS]
                if bounds[block[0]] < maxima.max() - screening.SLACK:
                    break
                maxima[block] = self._full_maxima(block)
        return maxima

    def _full_maxima(self, positions: NDArray[np.int64]) -> NDArray[np.float32]:
        return blocks.row_maxima(
            lambda start, stop: blocks.unit(self._rows[positions[start:stop]]),
            len(positions),
            self._unit_sources,
        )

    def _largest(self, maxima: NDArray[np.float32]) -> float:
        """Return the largest cosine of all pairs in float64."""
        import numpy as np

        largest = 0.0
        top = np.flatnonzero(maxima >= maxima.max(initial=0.0) - _DOUBT)
        for start in range(0, len(top), _SETTLED_AT_ONCE):
            block = self.nearest(top[start : start + _SETTLED_AT_ONCE])
            largest = max(largest, float(block.similarity.max()))
            if largest >= 1.0:
                break
        return largest


def _cosines(rows: NDArray[np.float64], sources: NDArray[np.float64]) -> NDArray[np.float64]:
    # Of whole numbers, products and squares are exact, so equal directions give exactly 1.0.
    lengths = (blocks.squares(rows)[:, None] * blocks.squares(sources)[None, :]) ** 0.5
    lengths[lengths == 0] = 1.0
    cosines: NDArray[np.float64] = (rows @ sources.T) / lengths
    return cosines
