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
    """What `PairSearch.decide` found.

    Attributes:
        flagged: Which rows reach the limit.
        source: A nearest source of every flagged row, to float32 rounding.
        largest: The largest cosine of all pairs that were settled.
    """

    flagged: NDArray[np.bool_]
    source: NDArray[np.int64]
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
            largest: Whether the largest cosine has to be that of all pairs even when no row
                reaches the limit. Else rows that a bound rules out may hold a larger one.
        """
        import numpy as np

        maxima, source = self._maxima(limit, largest=largest)
        flagged = maxima >= limit + _DOUBT
        doubtful = np.flatnonzero(np.abs(maxima - limit) < _DOUBT)
        if len(doubtful):
            settled = self.nearest(doubtful)
            flagged[doubtful] = settled.similarity >= limit - _TIE
            source[doubtful] = settled.source
        return Verdict(flagged, source, self._largest(maxima))

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

    def _maxima(
        self, limit: float, *, largest: bool
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return each row's largest cosine in float32 and where, or 0 where it decides nothing."""
        import numpy as np

        n = len(self._rows)
        if not screening.pays(self._rows, self._sources):
            return self._full_maxima(np.arange(n))
        screen = screening.Screen(self._unit_sources)
        maxima = np.zeros(n, dtype=np.float32)
        source = np.full(n, -1, dtype=np.int64)
        sample = np.arange(0, n, n // blocks.ROWS + 1)
        maxima[sample], source[sample] = self._full_maxima(sample)
        bar = _bar(maxima, limit, largest=largest)
        levels = [kept for kept in screening.LEVELS if screen.helps(self._rows[sample], kept, bar)]
        bounds = np.ones(n, dtype=np.float32)
        if levels:
            bounds = screen.upper_bounds(self._rows, levels[0])
        bounds[sample] = 0.0
        order = np.argsort(-bounds, kind="stable")
        for start in range(0, n, blocks.ROWS):
            bar = _bar(maxima, limit, largest=largest)
            block = order[start : start + blocks.ROWS]
            block = block[bounds[block] >= max(bar, screening.SLACK)]
            for kept in levels[1:]:
                block = block[screen.upper_bounds(self._rows[block], kept) >= bar]
            maxima[block], source[block] = self._full_maxima(block)
        return maxima, source

    def _full_maxima(
        self, positions: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        return blocks.row_maxima(
            lambda start, stop: blocks.unit(self._rows[positions[start:stop]]),
            len(positions),
            self._unit_sources,
        )

    def _largest(self, maxima: NDArray[np.float32]) -> float:
        """Return the largest cosine of the pairs that were settled, in float64."""
        import numpy as np

        largest = 0.0
        top = np.flatnonzero((maxima > 0) & (maxima >= maxima.max(initial=0.0) - _DOUBT))
        for start in range(0, len(top), _SETTLED_AT_ONCE):
            block = self.nearest(top[start : start + _SETTLED_AT_ONCE])
            largest = max(largest, float(block.similarity.max()))
            if largest >= 1.0:
                break
        return largest


def _bar(maxima: NDArray[np.float32], limit: float, *, largest: bool) -> float:
    """Return the bound from which a row may reach the limit or, before one does, the top."""
    return (min(limit, float(maxima.max())) if largest else limit) - screening.SLACK


def _cosines(rows: NDArray[np.float64], sources: NDArray[np.float64]) -> NDArray[np.float64]:
    # Of whole numbers, products and squares are exact, so equal directions give exactly 1.0.
    lengths = (blocks.squares(rows)[:, None] * blocks.squares(sources)[None, :]) ** 0.5
    lengths[lengths == 0] = 1.0
    cosines: NDArray[np.float64] = (rows @ sources.T) / lengths
    return cosines
