"""How long assistants talk, whether they were cut, and how far rows of a task differ."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

from whileai_core.quality.reports import Report

if TYPE_CHECKING:
    from whileai_core.quality.facts import Facts
    from whileai_core.quality.tasks import Task

MOST_SPREAD = 4.0
_TASKS_NAMED = 5


def length_report(facts: Sequence[Facts]) -> Report:
    """Return lengths in characters; a task is widely spread where max / median is above 4."""
    by_task: dict[Task, list[int]] = {}
    for fact in facts:
        by_task.setdefault(fact.task, []).append(fact.length)
    several = {task: lengths for task, lengths in by_task.items() if len(lengths) > 1}
    wide = [
        task for task, lengths in several.items() if max(lengths) > MOST_SPREAD * median(lengths)
    ]
    lengths = [fact.length for fact in facts]
    cut = dict.fromkeys(fact.task for fact in facts if fact.truncated)
    return Report(
        n=len(lengths),
        median_chars=float(median(lengths)) if lengths else 0.0,
        max_chars=max(lengths, default=0),
        n_truncated=sum(fact.truncated for fact in facts),
        n_groups_multi=len(several),
        n_groups_wide_spread=len(wide),
        max_spread=MOST_SPREAD,
        truncated_tasks=list(cut)[:_TASKS_NAMED],
        wide_tasks=wide[:_TASKS_NAMED],
    )
