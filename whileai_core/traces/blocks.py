"""Block-wise products of vectors: no table of pairs is ever whole.

The steps are BLAS calls and reductions over blocks that stay in the cache.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

ROWS = 512
SOURCES = 2048


def squares(vectors: Any) -> NDArray[np.float64]:
    """Return each vector's squared length, summed in float64."""
    import numpy as np

    found: NDArray[np.float64] = np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)
    return found


def unit(vectors: Any) -> NDArray[np.float32]:
    """Return the vectors at length 1 in float32; zero vectors stay zero."""
    import numpy as np

    lengths = squares(vectors) ** 0.5
    lengths[lengths == 0] = 1.0
    scaled = np.empty(vectors.shape, dtype=np.float32)
    np.divide(vectors, lengths[:, None], out=scaled, casting="same_kind")
    return scaled


def row_maxima(
    rows: Callable[[int, int], NDArray[np.float32]], n: int, sources: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return each row's largest product with any source, and where: 0 and -1 if none is above 0.

    Args:
        rows: Gives the rows from a start to a stop.
        n: How many rows there are.
        sources: All sources.
    """
    import numpy as np

    best = np.zeros(n, dtype=np.float32)
    where = np.full(n, -1, dtype=np.int64)
    products = np.empty((ROWS, SOURCES), dtype=np.float32)
    for start in range(0, n, ROWS):
        block = rows(start, min(start + ROWS, n))
        here = best[start : start + len(block)]
        for first in range(0, len(sources), SOURCES):
            against = sources[first : first + SOURCES]
            out = products[: len(block), : len(against)]
            np.matmul(block, against.T, out=out)
            top = out.max(axis=1)
            better = np.flatnonzero(top > here)
            here[better] = top[better]
            where[start + better] = first + out[better].argmax(axis=1)
    return best, where
