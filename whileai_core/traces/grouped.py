"""The nearest source of every text when identifiers have a say: only texts that share enough.

What two texts share of their identifiers bounds their similarity. Texts are grouped by their
identifiers, and groups that share too little to reach the limit are never compared, nor embedded.
Small groups are compared pair by pair, many groups at a time; large ones go through `PairSearch`
in blocks. Memory is bounded by the blocks, whatever the number of texts.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from whileai_core.traces import blocks
from whileai_core.traces.identifiers import alike
from whileai_core.traces.neighbours import Nearest, PairSearch, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.traces.embedders import Embed, Matrix

_TIE = 1e-12  # what rounding may do to two equal cosines in float64
_LEAST = 1e-6  # a limit of 0 asks for whatever is alike at all
_AT_ONCE = 32_768  # vectors of one side that are held
_PAIRS_AT_ONCE = 4096
_PAIRS_PER_TEXT = 4  # up to here pairs cost less than the texts' vectors


class GroupedSearch:
    """Compares texts with sources by words and identifiers; ask `decide` first.

    Args:
        texts: The generated texts.
        sources: The source texts.
        embed: Gives the vectors of texts' words.
        identifiers: Gives a text's identifiers, as `identifiers.alike` reads them.
    """

    def __init__(
        self,
        texts: Sequence[str],
        sources: Sequence[str],
        embed: Embed,
        identifiers: Callable[[str], str],
    ) -> None:
        import numpy as np

        self._texts = texts
        self._sources = sources
        self._embed = embed
        self._identifiers = identifiers
        self._similarity = np.zeros(len(texts))
        self._source = np.full(len(texts), -1, dtype=np.int64)

    def decide(self, limit: float) -> Verdict:
        """Tell which texts have a source with a cosine times share of at least `limit`.

        The largest value is that of the pairs that were compared: exact when a text is flagged,
        else a lower bound, as pairs that cannot reach the limit are not looked at.
        """
        ours, theirs = self._groups(self._texts), self._groups(self._sources)
        top = 0.0
        small = _Pairs([], [], [])
        for one, other, share in alike(ours, theirs, max(limit, _LEAST)):
            rows, sources = ours[one], theirs[other]
            if len(rows) * len(sources) > _PAIRS_PER_TEXT * (len(rows) + len(sources)):
                found = self._compare_blocks(rows, sources, share, limit)
                top = max(top, found)
                continue
            small.add(rows, sources, share)
            if len(small.rows) >= _PAIRS_AT_ONCE:
                top = max(top, self._compare_pairs(small))
                small = _Pairs([], [], [])
        top = max(top, self._compare_pairs(small))
        self._repeat()
        return Verdict(self._similarity >= limit - _TIE, self._source, top)

    def nearest(self, positions: NDArray[np.int64]) -> Nearest:
        """Return the nearest source of the texts at `positions`, among those that were compared.

        Where thousands of texts share their identifiers, it is the nearest to float32 rounding.
        """
        return Nearest(self._similarity[positions], self._source[positions])

    def _groups(self, texts: Sequence[str]) -> dict[str, list[int]]:
        """Return the positions of the distinct texts by their identifiers."""
        groups: dict[str, list[int]] = defaultdict(list)
        for text, position in _first_positions(texts).items():
            groups[self._identifiers(text)].append(position)
        return groups

    def _compare_pairs(self, pairs: _Pairs) -> float:
        """Compare pair by pair in float64, and return the largest value."""
        import numpy as np

        if not pairs.rows:
            return 0.0
        rows, left = self._vectors(self._texts, pairs.rows)
        sources, right = self._vectors(self._sources, pairs.sources)
        found = _cosines(rows, sources, left, right) * np.array(pairs.shares)
        self._keep(np.array(pairs.rows), found, np.array(pairs.sources))
        return float(found.max())

    def _compare_blocks(
        self, rows: list[int], sources: list[int], share: float, limit: float
    ) -> float:
        """Compare all rows with all sources, and return the largest value found."""
        import numpy as np

        top = 0.0
        for first in range(0, len(sources), _AT_ONCE):
            against = np.array(sources[first : first + _AT_ONCE])
            source_vectors = self._embed([self._sources[place] for place in against.tolist()])
            for start in range(0, len(rows), _AT_ONCE):
                block = np.array(rows[start : start + _AT_ONCE])
                vectors = self._embed([self._texts[place] for place in block.tolist()])
                verdict = PairSearch(vectors, source_vectors).decide(limit / share, largest=False)
                top = max(top, verdict.largest * share)
                hits = np.flatnonzero(verdict.flagged & (verdict.source >= 0))
                for some in np.array_split(hits, len(hits) // _PAIRS_AT_ONCE + 1):
                    nearest = verdict.source[some]
                    found = _cosines(vectors, source_vectors, some, nearest) * share
                    self._keep(block[some], found, against[nearest])
        return top

    def _vectors(
        self, texts: Sequence[str], positions: list[int]
    ) -> tuple[Matrix, NDArray[np.int64]]:
        """Return the vectors of the distinct positions, and the place of each among them."""
        import numpy as np

        distinct, places = np.unique(np.array(positions), return_inverse=True)
        return self._embed([texts[position] for position in distinct.tolist()]), places

    def _keep(
        self,
        rows: NDArray[np.int64],
        similarity: NDArray[np.float64],
        sources: NDArray[np.int64],
    ) -> None:
        """Take over what is nearer than what was known; of two alike, the earlier source."""
        import numpy as np

        order = np.lexsort((sources, -similarity.round(12), rows))
        rows, similarity, sources = rows[order], similarity[order], sources[order]
        rows, best = np.unique(rows, return_index=True)
        similarity, sources = similarity[best], sources[best]
        gain = similarity - self._similarity[rows]
        better = (gain > _TIE) | ((gain >= -_TIE) & (sources < self._source[rows]))
        self._similarity[rows[better]] = similarity[better]
        self._source[rows[better]] = sources[better]

    def _repeat(self) -> None:
        """Give equal texts what the first of them got."""
        import numpy as np

        first = _first_positions(self._texts)
        places = np.array([first[text] for text in self._texts], dtype=np.int64)
        self._similarity, self._source = self._similarity[places], self._source[places]


class _Pairs(NamedTuple):
    rows: list[int]
    sources: list[int]
    shares: list[float]

    def add(self, rows: list[int], sources: list[int], share: float) -> None:
        """Add every row with every source."""
        for row in rows:
            self.rows.extend([row] * len(sources))
            self.sources.extend(sources)
        self.shares.extend([share] * (len(rows) * len(sources)))


def _first_positions(texts: Iterable[str]) -> dict[str, int]:
    first: dict[str, int] = {}
    for position, text in enumerate(texts):
        first.setdefault(text, position)
    return first


def _cosines(
    rows: Matrix, sources: Matrix, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the cosine of each pair (a place in rows, a place in sources), in float64."""
    import numpy as np

    one, other = rows[left].astype(np.float64), sources[right].astype(np.float64)
    lengths = (blocks.squares(one) * blocks.squares(other)) ** 0.5
    lengths[lengths == 0] = 1.0
    cosines: NDArray[np.float64] = np.einsum("ij,ij->i", one, other) / lengths
    return np.minimum(cosines, 1.0)
