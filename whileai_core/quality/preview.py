"""The preview of a dataset: three of its rows, its profile, and what the gate says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.quality.grades import label_of
from whileai_core.quality.intervals import wilson_interval
from whileai_core.quality.profile import Profile
from whileai_core.quality.publishing import publish_gate
from whileai_core.quality.reports import Report
from whileai_core.traces.behaviour import signature_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

GATE_ROWS = 20_000
_ROW_CHARACTERS = 4000
_TEXT_CHARACTERS = 400
_LIST_ENTRIES = 8
_HARD_TIERS = frozenset({"boundary", "ambiguous", "adversarial"})
_UNLABELLED = "unlabelled"
_HARD_SHARE, _HARD_ROWS = 0.3, 50
_MANY_UNLABELLED = 0.5
_DIGITS = 3


class Preview:
    """A preview in the making: `add` every row, then read `result`.

    Memory grows with the tasks and distinct prompts, and holds at most `gate_rows` rows.

    Args:
        total: How many rows will come, if known; it places the middle row of the sample.
        mode: What the rows are for, for the gate.
        gate_rows: The gate reads that many rows from the start.
    """

    def __init__(
        self, total: int | None = None, *, mode: str | None = None, gate_rows: int = GATE_ROWS
    ) -> None:
        self._profile = Profile()
        self._mode = mode
        self._wanted = {0, total // 2} if total else {0}
        self._gate_rows = gate_rows
        self._read: list[Row] = []
        self._sample: dict[int, object] = {}
        self._last: object = None
        self._prompts: set[bytes] = set()
        self._behaviours: set[str] = set()
        self._cells: set[bytes] = set()
        self._failure_classes: Counter[str] = Counter()
        self._tiers: Counter[str] = Counter()
        self._graded_tiers: Counter[str] = Counter()
        self._failed_tiers: Counter[str] = Counter()
        self._labels: Counter[int] = Counter()
        self._usable = 0

    def add(self, row: object) -> None:
        """Take one row in; a value that is no object is counted and shown, and not judged."""
        if self._profile.rows in self._wanted:
            self._sample[self._profile.rows] = row
        self._last = row
        self._profile.add(row)
        if not isinstance(row, dict):
            return
        if len(self._read) < self._gate_rows:
            self._read.append(row)
        self._prompts.add(_digest(plain_text(row.get("prompt")).encode("utf-8", "surrogatepass")))
        self._behaviours.add(signature_of(row, list(tool_calls(row))).digest)
        cell = row.get("scenario_dimensions")
        if isinstance(cell, dict) and cell:
            self._cells.add(_digest(jsonio.text(sorted(cell.items(), key=str)).encode()))
        if row.get("failure_class"):
            self._failure_classes[plain_text(row["failure_class"])] += 1
        self._add_label(row)

    def _add_label(self, row: Row) -> None:
        tier = plain_text(row.get("tier")) or _UNLABELLED
        self._tiers[tier] += 1
        label = label_of(row)
        if label is None:
            return
        self._labels[label] += 1
        self._graded_tiers[tier] += 1
        self._failed_tiers[tier] += label == 0
        self._usable += label == 1 and bool(row.get("final_text"))

    def result(self) -> Report:
        """Return `rows` (first, middle and last, cut) and `report`."""
        n = self._profile.rows
        sample = dict(self._sample)
        if n:
            sample[n - 1] = self._last
        return Report(
            rows=[cut_row(row) for _, row in sorted(sample.items())],
            report=self._report(),
        )

    def _report(self) -> dict[str, Any]:
        rows, labeled = self._profile.rows, self._labels.total()
        gate = publish_gate(self._read, mode=self._mode, strict=False)
        scan = gate["hack_scan"]
        hard = sum(self._tiers[tier] for tier in _HARD_TIERS)
        return {
            **self._profile.result(),
            "unique_prompts": len(self._prompts),
            "labeled": labeled,
            "passes": self._labels[1],
            "fails": self._labels[0],
            "fail_rate": _rate(self._labels[0], labeled),
            "fail_rate_ci95": _interval(self._labels[0], labeled),
            "usable_sft": self._usable,
            "distinct_behaviors": len(self._behaviours),
            "cells_touched": len(self._cells),
            "failure_classes": dict(self._failure_classes.most_common()),
            "tier_counts": dict(sorted(self._tiers.items())),
            "hard_share": _rate(hard, rows),
            "tier_fail_rate": {
                tier: {
                    "rate": _rate(self._failed_tiers[tier], n),
                    "ci95": _interval(self._failed_tiers[tier], n),
                    "n": n,
                }
                for tier, n in sorted(self._graded_tiers.items())
            },
            "gate_rows": len(self._read),
            "length": gate["length"],
            "duplicates": gate["duplicates"],
            "near_duplicate_prompts": gate["near_duplicate_prompts"],
            "correlations": gate["correlations"],
            "hack_scan": None if scan is None else scan["regime"],
            "refusal": gate["refusal"],
            "warnings": [*self._warnings(rows, hard), *gate["warnings"]],
        }

    def _warnings(self, rows: int, hard: int) -> list[str]:
        found = []
        labelled = rows - self._tiers[_UNLABELLED]
        if labelled >= _HARD_ROWS and hard < _HARD_SHARE * labelled:
            found.append(
                f"{hard} of {labelled} rows with a tier are boundary, ambiguous or adversarial; "
                f"aim for {_HARD_SHARE:.0%}"
            )
        if labelled and self._tiers[_UNLABELLED] > _MANY_UNLABELLED * rows:
            found.append(f"{self._tiers[_UNLABELLED]} of {rows} rows have no tier")
        if len(self._read) < rows:
            found.append(f"the gate has read the first {len(self._read)} of {rows} rows")
        return found


def preview_report(rows: Sequence[object], *, mode: str | None = None) -> Report:
    """Return the preview of rows; see `Preview` for rows that come in parts."""
    preview = Preview(len(rows), mode=mode)
    for row in rows:
        preview.add(row)
    return preview.result()


def cut_row(row: Any) -> Any:
    """Return a row with long texts and lists cut to a few kilobytes, for showing."""
    if len(jsonio.text(row)) <= _ROW_CHARACTERS:
        return row
    for characters in (_TEXT_CHARACTERS, _TEXT_CHARACTERS // 4, _TEXT_CHARACTERS // 16):
        cut = _cut(row, characters, depth=0)
        if len(jsonio.text(cut)) <= _ROW_CHARACTERS:
            return cut
    return {key: _cut(row[key], characters, depth=4) for key in list(row)[:_LIST_ENTRIES]}


def _cut(value: Any, characters: int, *, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else value[: characters - 1] + "…"
    if isinstance(value, dict | list) and depth > 5:
        return "…"
    if isinstance(value, dict):
        return {
            key: _cut(child, characters, depth=depth + 1)
            for key, child in list(value.items())[: 4 * _LIST_ENTRIES]
        }
    if isinstance(value, list):
        cut = [_cut(child, characters, depth=depth + 1) for child in value[:_LIST_ENTRIES]]
        left = len(value) - len(cut)
        return [*cut, f"… {left} more"] if left else cut
    return value


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=12).digest()


def _rate(count: int, of: int) -> float | None:
    return round(count / of, _DIGITS) if of else None


def _interval(count: int, of: int) -> list[float] | None:
    interval = wilson_interval(count, of)
    return None if interval is None else [round(limit, _DIGITS) for limit in interval]
