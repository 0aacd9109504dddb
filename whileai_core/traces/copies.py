"""Which texts are copies of a source: exact ones by their folded form, near ones by cosine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core.errors import InputError
from whileai_core.traces.embedders import Embedding, embedding
from whileai_core.traces.grouped import GroupedSearch
from whileai_core.traces.neighbours import PairSearch
from whileai_core.traces.tasks import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Search: TypeAlias = PairSearch | GroupedSearch


class Match(NamedTuple):
    """A text beside its nearest source; source -1 when none is alike at all."""

    text: int
    similarity: float
    source: int


class Copies(NamedTuple):
    """The outcome of a search for copies.

    Attributes:
        flagged: One flag per text.
        exact: Position of a text that is an exact copy -> position of the first equal source.
        largest: The largest similarity of all pairs. With an embedder that reads identifiers it
            is a lower bound when nothing is flagged (`GroupedSearch.decide`).
        search: The comparison of the other texts; None when there are none.
        places: Position of every other text -> its row in `search`.
        sharpness: Similarity is the cosine to this power.
    """

    flagged: NDArray[np.bool_]
    exact: dict[int, int]
    largest: float
    search: Search | None
    places: dict[int, int]
    sharpness: float

    def matches(self, positions: Sequence[int]) -> list[Match]:
        """Return the nearest source of the texts at `positions`; the first source wins ties."""
        import numpy as np

        near = [text for text in positions if text not in self.exact]
        found: dict[int, Match] = {}
        if self.search is not None and near:
            nearest = self.search.nearest(np.array([self.places[text] for text in near]))
            for text, cosine, source in zip(
                near, nearest.similarity.tolist(), nearest.source.tolist(), strict=True
            ):
                found[text] = Match(text, cosine**self.sharpness, source)
        return [
            Match(text, 1.0, self.exact[text]) if text in self.exact else found[text]
            for text in positions
        ]


def find_copies(
    texts: Sequence[str], sources: Sequence[str], *, threshold: float, embedder: object
) -> Copies:
    """Find the texts that have a source of at least `threshold` similarity.

    Memory is linear in the texts at most (bounded with an embedder that reads identifiers): no
    table of pairs is ever whole. Exact copies need no
    comparison and count at any threshold; an empty text is never one.
    """
    import numpy as np

    how = embedding(embedder)
    exact = _exact_copies(texts, sources)
    others = [position for position in range(len(texts)) if position not in exact]
    flagged = np.zeros(len(texts), dtype=np.bool_)
    flagged[list(exact)] = True
    if not others:
        return Copies(flagged, exact, 1.0, None, {}, how.sharpness)
    search = _search(how, [texts[position] or " " for position in others], sources)
    limit = how.cosine(min(threshold, 1.0))
    if isinstance(search, GroupedSearch):
        verdict = search.decide(limit)
    else:
        verdict = search.decide(limit, largest=not exact)
    flagged[others] = verdict.flagged
    largest = 1.0 if exact else verdict.largest**how.sharpness
    places = {position: place for place, position in enumerate(others)}
    return Copies(flagged, exact, largest, search, places, how.sharpness)


def _exact_copies(texts: Sequence[str], sources: Sequence[str]) -> dict[int, int]:
    first_source: dict[str, int] = {}
    for position, source in enumerate(sources):
        first_source.setdefault(fold(source), position)
    exact = {}
    for position, text in enumerate(texts):
        source_position = first_source.get(fold(text)) if text else None
        if source_position is not None:
            exact[position] = source_position
    return exact


def _search(how: Embedding, texts: list[str], sources: Sequence[str]) -> Search:
    if how.identifiers is not None:
        return GroupedSearch(texts, sources, how.embed, how.identifiers)
    return PairSearch(*_vectors(how, texts, sources))


def _vectors(how: Embedding, texts: list[str], sources: Sequence[str]) -> tuple[Any, Any]:
    rows, against = how.embed(texts), how.embed(sources)
    if rows.shape[1] != against.shape[1]:
        raise InputError(
            f"the embedder returned vectors of {rows.shape[1]} and of {against.shape[1]} numbers"
        )
    return rows, against
