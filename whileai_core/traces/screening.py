"""A bound on cosines that is cheaper than the cosines: most rows need no full comparison.

Unit vectors are turned onto the first principal directions of a sample, and the length of what
is left over is appended. By Cauchy-Schwarz the product of two such short vectors is never below
the true cosine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.traces import blocks

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.traces.embedders import Matrix

SLACK = 1e-4  # what float32 may take off a bound
LEVELS = (31, 95)  # directions: a bound for all rows, and a finer one for those it leaves
_SAMPLE = 4096
_USEFUL = 0.5  # a bound that leaves more of the rows is not worth its time
_WORTHWHILE = 2e10  # multiplications from which screening saves more than its preparation


class Screen:
    """Bounds rows' largest cosine with any of some sources, given as unit vectors."""

    def __init__(self, sources: NDArray[np.float32]) -> None:
        self._sources = sources
        self._directions = _principal_directions(sources)
        self._short_sources: dict[int, NDArray[np.float32]] = {}

    def upper_bounds(self, rows: Matrix, kept: int) -> NDArray[np.float32]:
        """Return, for each row, a number its largest cosine passes by at most `SLACK`.

        Args:
            rows: Vectors of any length.
            kept: How many directions to look at, at most the last of `LEVELS`.
        """
        directions = self._directions[:, -kept:]
        if kept not in self._short_sources:
            self._short_sources[kept] = _short(self._sources, directions)
        bounds, _ = blocks.row_maxima(
            lambda start, stop: _short(blocks.unit(rows[start:stop]), directions),
            len(rows),
            self._short_sources[kept],
        )
        return bounds

    def helps(self, rows: Matrix, kept: int, bar: float) -> bool:
        """Tell whether most rows of a sample are ruled out, their bound being below the bar."""
        return float((self.upper_bounds(rows, kept) >= bar).mean()) < _USEFUL


def _principal_directions(sources: NDArray[np.float32]) -> NDArray[np.float64]:
    import numpy as np

    sample = sources[:: max(1, len(sources) // _SAMPLE)].astype(np.float64)
    _, directions = np.linalg.eigh(sample.T @ sample)
    kept: NDArray[np.float64] = directions[:, -LEVELS[-1] :]
    return kept


def _short(vectors: NDArray[np.float32], directions: NDArray[np.float64]) -> NDArray[np.float32]:
    import numpy as np

    short = np.empty((len(vectors), directions.shape[1] + 1), dtype=np.float32)
    for start in range(0, len(vectors), blocks.ROWS):
        # In float64: the length left over is a small difference.
        part = vectors[start : start + blocks.ROWS].astype(np.float64)
        turned = part @ directions
        rest = np.maximum(blocks.squares(part) - blocks.squares(turned), 0.0) ** 0.5
        short[start : start + len(part), :-1] = turned
        short[start : start + len(part), -1] = rest
    return short


def pays(rows: Matrix, sources: Matrix) -> bool:
    """Tell whether there is enough to compare for screening to pay."""
    width = rows.shape[1]
    enough = len(rows) * len(sources) * width >= _WORTHWHILE and len(rows) >= 8 * blocks.ROWS
    return enough and width > 2 * LEVELS[-1]
