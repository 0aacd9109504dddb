"""What the label goes along with over all rows: lengths, calls, stock phrases, faults."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from whileai_core.quality.reports import Report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.quality.facts import Facts

THRESHOLD = 0.3
_FEWEST = 3
_DIGITS = 4

_PHRASES = {
    "boilerplate": (
        "as an ai", "as a language model", "i hope this helps", "let me know if",
        "feel free to", "is there anything else", "happy to help", "don't hesitate",
    ),
    "hedging": (
        "it seems", "it appears", "might be", "may be", "could be", "possibly", "perhaps",
        "not sure", "not entirely sure", "i think", "i believe", "it depends",
    ),
    "sycophancy": (
        "great question", "good question", "excellent", "you're absolutely right",
        "absolutely!", "what a great", "what a wonderful", "certainly!", "of course!",
    ),
    "refusal": (
        "i can't", "i can\u2019t", "i cannot", "i'm unable", "i am unable", "i won't",
        "i won\u2019t", "i'm not able",
    ),
}  # fmt: skip


def label_correlations(facts: Sequence[Facts]) -> Report:
    """Return Pearson correlations of the label with cheap features over all graded rows.

    Features that do not vary have none. `flagged` are those of 0.3 and more in size. Tasks of
    different difficulty can bring about such a correlation; `hack_scan` looks inside tasks.
    """
    import numpy as np

    graded = [fact for fact in facts if fact.label is not None]
    found: dict[str, float] = {}
    if len(graded) >= _FEWEST:
        label = np.array([fact.label for fact in graded], dtype=float)
        for name, values in _columns(graded).items():
            rho = _pearson(values, label)
            if rho is not None:
                found[name] = round(rho, _DIGITS)
    return Report(
        n_graded=len(graded),
        threshold=THRESHOLD,
        correlations=found,
        flagged=[name for name, rho in found.items() if abs(rho) >= THRESHOLD],
    )


def _columns(facts: Sequence[Facts]) -> dict[str, NDArray[np.float64]]:
    import numpy as np

    texts = [fact.text.lower() for fact in facts]
    columns: dict[str, list[float]] = {
        "reply_length": [fact.length for fact in facts],
        "tool_calls": [len(fact.tools) for fact in facts],
        "assistant_turns": [fact.turns for fact in facts],
    }
    for name, phrases in _PHRASES.items():
        columns[name] = [_has_any(text, phrases) for text in texts]
    faults = dict.fromkeys(fault for fact in facts for fault in fact.faults)
    for fault in faults:
        columns[f"trace:{fault}"] = [fault in fact.faults for fact in facts]
    return {name: np.array(values, dtype=float) for name, values in columns.items()}


def _has_any(text: str, phrases: Sequence[str]) -> bool:
    for phrase in phrases:  # noqa: SIM110 - `any` makes a generator per text, and costs twice this
        if phrase in text:
            return True
    return False


def _pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    scale = float((a @ a) * (b @ b)) ** 0.5
    return float(a @ b) / scale if scale > 0 else None
