"""Near copies between generated rows and their sources."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from whileai_core.errors import InputError
from whileai_core.traces.copies import find_copies
from whileai_core.traces.intake import are_parts, as_schema_row, ask_of, items_of
from whileai_core.traces.values import plain_text

DEFAULT_THRESHOLD = 0.9
DEFAULT_EXAMPLES = 20
_SHOWN_CHARACTERS = 200

Report = dict[str, Any]


def leakage_report(
    generated: object,
    sources: object,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "hash",
    examples: int = DEFAULT_EXAMPLES,
) -> Report:
    """Report which generated asks are near copies of a source ask.

    Args:
        generated: Rows or texts: a list, an iterator, or one of them.
        sources: Rows or texts, one or many; a list among them stands for its items.
        threshold: Cosine from which a row counts as a copy. Exact copies (case, spacing and
            Unicode form ignored) always count, also when it is above 1.
        embedder: See `embedders.embedding`. `"hash"` reads numbers as all alike and calls asks
            from one template copies; `"ngram"` tells them apart (docs/leakage.md).
        examples: How many flagged rows to list.

    Returns:
        `n`, `n_sources`, `threshold`, `n_leaky`, `max_similarity` (with `"ngram"` a lower bound
        when nothing is flagged: what cannot reach the threshold is not compared) and `leaky`: up
        to `examples` entries with `row`, `source` (its position among the sources as given),
        `similarity`, and as evidence both texts, cut (`text`, `source_text`).

    Raises:
        InputError: The threshold is NaN, the embedder is unknown, or its vectors do not fit.
        TypeError: The embedder is of a wrong type, or `generated` holds no items.
    """
    return _check(_items(generated), sources, threshold, embedder, examples).report


def drop_leaky_rows(
    rows: object,
    sources: object,
    *,
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "hash",
    examples: int = DEFAULT_EXAMPLES,
) -> tuple[list[Any], Report]:
    """Return the rows that are no near copies of a source, and the report of `leakage_report`.

    The report has `n_dropped` in addition. Arguments and errors are those of `leakage_report`.
    """
    items = _items(rows)
    verdict = _check(items, sources, threshold, embedder, examples)
    kept = [item for item, leaky in zip(items, verdict.leaky, strict=True) if not leaky]
    return kept, {**verdict.report, "n_dropped": len(items) - len(kept)}


class _Verdict(NamedTuple):
    report: Report
    leaky: list[bool]


class _Sources(NamedTuple):
    texts: list[str]
    positions: list[int]


def _check(
    items: list[Any], sources: object, threshold: float, embedder: object, examples: int
) -> _Verdict:
    if math.isnan(threshold):
        raise InputError("threshold is NaN; give a number such as 0.9")
    texts = [_text_of(item) for item in items]
    known = _sources(sources)
    report: Report = {
        "n": len(texts),
        "n_sources": len(known.texts),
        "threshold": float(threshold),
        "n_leaky": 0,
        "max_similarity": 0.0,
        "leaky": [],
    }
    if not texts or not known.texts:
        return _Verdict(report, [False] * len(texts))
    found = find_copies(texts, known.texts, threshold=threshold, embedder=embedder)
    report["n_leaky"] = int(found.flagged.sum())
    report["max_similarity"] = found.largest
    listed = found.flagged.nonzero()[0][: max(0, examples)].tolist()
    for row, similarity, source in found.matches(listed):
        report["leaky"].append(
            {
                "row": row,
                "source": known.positions[source] if source >= 0 else -1,
                "similarity": round(similarity, 4),
                "text": texts[row][:_SHOWN_CHARACTERS],
                "source_text": known.texts[source][:_SHOWN_CHARACTERS] if source >= 0 else "",
            }
        )
    return _Verdict(report, found.flagged.tolist())


def _items(given: object) -> list[Any]:
    if not isinstance(given, Iterable):
        raise TypeError(f"expected rows or texts, got {type(given).__name__}")
    items = [given] if isinstance(given, str | dict) else list(given)
    return list(items_of(items)) if are_parts(items[:1]) else items


def _sources(sources: object) -> _Sources:
    found = _Sources([], [])
    position = 0
    for item in [] if sources is None else _items(sources):
        for inner in item if isinstance(item, list | tuple) else (item,):
            text = _text_of(inner)
            if text:
                found.texts.append(text)
                found.positions.append(position)
            position += 1
    return found


def _text_of(item: Any) -> str:
    if type(item) is str:
        return item.strip()
    row = item if isinstance(item, dict) else as_schema_row(item)
    return plain_text(item).strip() if row is None else ask_of(row)
