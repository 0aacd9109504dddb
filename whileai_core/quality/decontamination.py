"""Rows that an evaluation set has seen: same task, same text, or most of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from whileai_core.errors import InputError
from whileai_core.quality.reports import Report
from whileai_core.quality.tasks import checked_rows
from whileai_core.rows import TASK_IDS, given_id
from whileai_core.traces.intake import ask_of
from whileai_core.traces.tasks import fold
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

_EVAL_TEXTS = ("prompt", "answer", "reference")
_WORD = re.compile(r"\w+")
_EXAMPLES = 20
_SHOWN_CHARACTERS = 200


def decontaminate(
    rows: object,
    against: object,
    n: int = 8,
    fields: Sequence[str] = ("prompt",),
    overlap: float = 0.8,
    embedder: object = None,
    similarity: float = 0.85,
) -> tuple[list[Row], Report]:
    """Return the rows that an evaluation set does not contain, and what was found.

    A row counts once, under the first rule that applies: `same_task` (an id in common), `exact`
    (a field equals an evaluation prompt, answer or reference; case, spacing and punctuation
    ignored), `near` (runs of n words shared with one evaluation text cover at least `overlap` of
    the field's words; with overlap 0 any shared run), `semantic` (with an embedder only).

    Args:
        rows: The rows to clean.
        against: Evaluation rows: a list, a list of lists, or paths of files that hold them.
        n: Words in a run. Shorter texts match only as a whole.
        fields: Fields of the rows to compare.
        overlap: See `near`.
        embedder: A name, function or object as `leakage_report` takes it; None for no embedding.
        similarity: Cosine from which a text counts as the same.

    Raises:
        InputError: An argument is out of its range, or there are no rows.
    """
    listed = checked_rows(rows)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n={n!r} must be a whole number of words, 1 or more")
    if not 0 <= overlap <= 1:
        raise InputError(f"overlap={overlap!r} must be between 0 and 1")
    known = list(_evaluation_rows(against))
    seen = _Evaluation(known, n, overlap)
    findings: list[tuple[str, str, str] | None] = [seen.finding(row, fields) for row in listed]
    if embedder is not None:
        _add_semantic(findings, listed, fields, known, embedder, similarity)
    kept = [row for row, found in zip(listed, findings, strict=True) if found is None]
    return kept, _report(listed, kept, findings, seen, fields, similarity)


class _Evaluation:
    """What the evaluation rows hold, indexed."""

    def __init__(self, rows: Sequence[Row], n: int, overlap: float) -> None:
        self.rows, self.n, self.overlap = rows, n, overlap
        self.ids = {identity for row in rows for identity in _identities(row)}
        self.texts = {text for row in rows for text in _texts(row, _EVAL_TEXTS)}
        self.exact = {_exact(text) for text in self.texts}
        self._holders: dict[tuple[str, ...], list[int]] = {}
        for place, text in enumerate(sorted(self.texts)):
            for run in set(_runs(_words(text), n)):
                self._holders.setdefault(run, []).append(place)

    def finding(self, row: Row, fields: Sequence[str]) -> tuple[str, str, str] | None:
        """Return the rule, the field and the text under which a row is contaminated."""
        if not self.ids.isdisjoint(_identities(row)):
            return "same_task", "task", next(iter(_identities(row)))
        texts = [(name, text) for name in fields for text in _texts(row, (name,))]
        for name, text in texts:
            if _exact(text) in self.exact:
                return "exact", name, text
        for name, text in texts:
            if self._is_near(_words(text)):
                return "near", name, text
        return None

    def _is_near(self, words: list[str]) -> bool:
        covered: dict[int, set[int]] = {}
        for start, run in enumerate(_runs(words, self.n)):
            for place in self._holders.get(run, ()):
                covered.setdefault(place, set()).update(range(start, start + self.n))
        most = max(map(len, covered.values()), default=0)
        return most > 0 and most >= self.overlap * len(words)


def _evaluation_rows(against: object) -> Iterator[Row]:
    if isinstance(against, dict):
        yield against
        return
    if isinstance(against, str | Path):
        from whileai_core.dialects.load import load_traces

        yield from load_traces(against)
        return
    if not isinstance(against, Iterable):
        raise InputError(f"against is {type(against).__name__}; give rows, lists of rows, or paths")
    for item in against:
        if isinstance(item, dict | str | Path | list | tuple):
            yield from _evaluation_rows(item)
        else:
            raise InputError(
                f"against holds {type(item).__name__}; give rows, lists of rows, or paths"
            )


def _add_semantic(
    findings: list[tuple[str, str, str] | None],
    rows: Sequence[Row],
    fields: Sequence[str],
    known: Sequence[Row],
    embedder: object,
    similarity: float,
) -> None:
    from whileai_core.traces.copies import find_copies

    sources = [text for row in known for text in _texts(row, _EVAL_TEXTS)]
    open_places = [place for place, found in enumerate(findings) if found is None]
    for name in fields:
        pairs = [(place, text) for place in open_places for text in _texts(rows[place], (name,))]
        if not pairs or not sources:
            continue
        copies = find_copies(
            [text for _, text in pairs], sources, threshold=similarity, embedder=embedder
        )
        for (place, text), flagged in zip(pairs, copies.flagged.tolist(), strict=True):
            if flagged and findings[place] is None:
                findings[place] = ("semantic", name, text)


def _report(
    rows: Sequence[Row],
    kept: Sequence[Row],
    findings: Sequence[tuple[str, str, str] | None],
    seen: _Evaluation,
    fields: Sequence[str],
    similarity: float,
) -> Report:
    rules = [found[0] for found in findings if found is not None]
    by_field: dict[str, int] = {}
    for found in findings:
        if found is not None:
            by_field[found[1]] = by_field.get(found[1], 0) + 1
    skipped = {}
    if not seen.ids or not any(map(_identities, rows)):
        side = "the evaluation rows" if not seen.ids else "the rows"
        skipped["same_task"] = f"{side} have no scenario_id or task_id"
    return Report(
        n=len(rows),
        n_kept=len(kept),
        n_contaminated=len(rules),
        contamination_rate=len(rules) / len(rows) if rows else 0.0,
        n_same_task=rules.count("same_task"),
        n_exact=rules.count("exact"),
        n_near=rules.count("near"),
        n_semantic=rules.count("semantic"),
        n_eval_rows=len(seen.rows),
        n_eval_texts=max(len(seen.texts), 0),
        ngram=seen.n,
        overlap=float(seen.overlap),
        similarity=float(similarity),
        fields=list(fields),
        by_field=by_field,
        examples=[
            {
                "row": place,
                "rule": found[0],
                "field": found[1],
                "text": found[2][:_SHOWN_CHARACTERS],
            }
            for place, found in enumerate(findings)
            if found is not None
        ][:_EXAMPLES],
        rules_skipped=skipped,
        notes=[],
    )


def _identities(row: Row) -> set[str]:
    return {str(value) for name in TASK_IDS if (value := given_id(row.get(name))) is not None}


def _texts(row: Row, names: Iterable[str]) -> list[str]:
    texts = (ask_of(row) if name == "prompt" else plain_text(row.get(name)) for name in names)
    return [text for text in texts if text.strip()]


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _exact(text: str) -> str:
    """Fold case, spacing and punctuation; a text of nothing else is itself."""
    return " ".join(_words(text)) or fold(text)


def _runs(words: Sequence[str], n: int) -> Iterator[tuple[str, ...]]:
    for start in range(len(words) - n + 1):
        yield tuple(words[start : start + n])
