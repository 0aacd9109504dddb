"""What a split holds in numbers, folded from its rows: what its card proves itself with."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import MissingExtra
from whileai_core.quality import Profile, detectable_effect, publish_gate, tasks_needed
from whileai_core.quality.holdouts import CEILING, PRIOR_PASS_RATE
from whileai_core.quality.tasks import Tally
from whileai_core.traces.embedders import TEMPLATE_AWARE
from whileai_core.traces.leakage import leakage_report

if TYPE_CHECKING:
    from whileai_core.rows import Row

# Beyond these the card says that it was not looked at, instead of taking the machine's memory.
MOST_GATED = 50_000
MOST_SCANNED = 20_000
MOST_COMPARED = 20_000
_SMALL = 0.05
_DIGITS = 4


def measure(texts: Iterable[str], *, mode: str | None) -> tuple[dict[str, Any], list[Any]]:
    """Return the numbers of a split, and its tasks' pass rates for a plot.

    Args:
        texts: Each row as JSON text.
        mode: What the rows are for.
    """
    profile = Profile()
    tally = Tally()
    kept: list[Row] | None = []
    for text in texts:
        row = jsonio.loads(text)
        profile.add(row)
        if isinstance(row, dict):
            tally.add(row)
        if kept is not None and isinstance(row, dict):
            kept.append(row)
            if len(kept) > MOST_GATED:
                kept = None
    found = dict(profile.result())
    per_task = found.pop("per_task", [])
    numbers = {
        "rows": found["rows"],
        "tasks": found["tasks"],
        "graded": found["graded"],
        "passed": found["split"]["pass"],
        "passRate": found["pass_rate"],
        "passRate95": found["pass_rate_interval95"],
        "mixedTasks": found["mixed_tasks"],
        "effect": _effect(tally),
        "gate": _gate(kept, mode),
        "redaction": _redaction(kept),
    }
    clean: dict[str, Any] = jsonio.strict(numbers)
    return clean, per_task


def leakage(prompts: list[str], others: list[str]) -> dict[str, Any]:
    """Return how many asks of one split are near copies of another one's, as a night sees it."""
    if max(len(prompts), len(others)) > MOST_COMPARED:
        return {"checked": False, "why": f"more than {MOST_COMPARED} rows"}
    report = leakage_report(prompts, others, embedder=TEMPLATE_AWARE, examples=0)
    keys = ("n", "n_sources", "n_leaky", "threshold")
    return {"checked": True, "embedder": TEMPLATE_AWARE} | {key: report[key] for key in keys}


def prompts_in(texts: Iterable[str]) -> list[str]:
    """Return the asks of a split, as far as they can be compared."""
    found = []
    for text in texts:
        row = jsonio.loads(text)
        prompt = row.get("prompt") if isinstance(row, dict) else None
        if isinstance(prompt, str) and prompt:
            found.append(prompt)
        if len(found) > MOST_COMPARED:
            break
    return found


def _effect(tally: Tally) -> dict[str, Any]:
    """Say which change of the pass rate these tasks can show, and how many a small one takes."""
    graded = list(tally.graded.values())
    rates = [group.rate for group in graded]
    base = math.fsum(rates) / len(rates) if rates else PRIOR_PASS_RATE
    base = round(base, _DIGITS) if 0 < base < CEILING else PRIOR_PASS_RATE
    counts = [group.graded for group in graded] or [group.rows for group in tally.groups.values()]
    repeats = min(counts, default=1)
    return {
        "shows": detectable_effect(len(tally.groups), base, repeats),
        "base": base,
        "repeats": repeats,
        "tasksFor5Points": tasks_needed(tally, _SMALL),
    }


def _gate(rows: list[Row] | None, mode: str | None) -> dict[str, Any]:
    if rows is None:
        return {"checked": False, "why": f"more than {MOST_GATED} rows"}
    report = publish_gate(rows, mode=mode, strict=False)
    return {
        "checked": True,
        "ok": report["ok"],
        "refusal": report["refusal"],
        "warnings": list(report["warnings"]),
    }


def _redaction(rows: list[Row] | None) -> dict[str, Any]:
    if rows is None or len(rows) > MOST_SCANNED:
        return {"checked": False, "why": f"more than {MOST_SCANNED} rows"}
    from whileai_core.redaction import scan

    counts: Counter[str] = Counter()
    try:
        for row in rows:
            counts.update(finding.kind for finding in scan(row))
    except MissingExtra:
        return {"checked": False, "why": "whileai-pipelines[redaction] is not installed"}
    return {"checked": True, "rows": len(rows), "findings": dict(sorted(counts.items()))}
