"""Keeps prompts from being copies of given asks, before anything is rolled out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whileai_core.rows import task_key
from whileai_core.traces.hashwords import HashEmbedder
from whileai_core.traces.intake import rows_of
from whileai_core.traces.leakage import DEFAULT_THRESHOLD
from whileai_core.traces.tasks import fold
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_ROUNDING = 1e-6


class LeakGate:
    """Tells near copies of source asks, by the measure of `leakage_report`.

    Args:
        sources: The asks not to copy.
        scenario_ids: Situations not to use again, for asks that are held out.
    """

    def __init__(self, sources: Iterable[str], scenario_ids: Iterable[str] = ()) -> None:
        texts = list(dict.fromkeys(text for source in sources if (text := source.strip())))
        self.n_sources = len(texts)
        self.n_rejected = 0
        self.n_taken = 0
        self.largest = 0.0
        self.scenario_ids = frozenset(scenario_ids)
        self._exact = {fold(text) for text in texts}
        self._embedder = HashEmbedder()
        self._vectors = _unit(self._embedder.embed(texts)) if texts else None

    @classmethod
    def of_rows(cls, rows: object, *, held_out: bool = False) -> LeakGate:
        """Return the gate for rows; the situations of held-out ones are not used again either."""
        listed = list(rows_of(rows))
        ids = {key for row in listed if (key := task_key(row)) is not None} if held_out else ()
        return cls((plain_text(row.get("prompt")) for row in listed), ids)

    def rejects(self, prompts: Sequence[str]) -> list[bool]:
        """Tell for each prompt whether it is a copy of a source."""
        if self._vectors is None or not prompts:
            return [False] * len(prompts)
        nearest = (_unit(self._embedder.embed(list(prompts))) @ self._vectors.T).max(axis=1)
        verdicts = []
        for prompt, similarity in zip(prompts, nearest.tolist(), strict=True):
            rejected = similarity >= DEFAULT_THRESHOLD - _ROUNDING or fold(prompt) in self._exact
            self.n_rejected += rejected
            self.n_taken += not rejected
            if not rejected:
                self.largest = max(self.largest, similarity)
            verdicts.append(rejected)
        return verdicts

    def report(self) -> dict[str, Any]:
        """Return what was compared and rejected, in the form of `search["trace_leakage"]`."""
        return {
            "n": self.n_taken,
            "n_sources": self.n_sources,
            "threshold": DEFAULT_THRESHOLD,
            "n_rejected_before_rollout": self.n_rejected,
            "n_leaky": 0,
            "n_dropped": 0,
            "max_similarity": round(self.largest, 4),
        }


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    import numpy as np

    doubles = vectors.astype(np.float64)
    lengths = np.linalg.norm(doubles, axis=1, keepdims=True)
    return doubles / np.where(lengths > 0, lengths, 1.0)
