"""The difference between two agents on the same tasks, with its interval.

Each task is its own control: what is averaged is the change of a task's pass rate, so that how
hard the tasks are does not blur the comparison. How well the interval covers is measured in
benchmarks/study_pairs.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from whileai_core.quality.intervals import Interval
from whileai_core.quality.quantiles import t_quantile
from whileai_core.quality.tasks import Group, Tally

if TYPE_CHECKING:
    from whileai_core.rows import Row

# A two-sided sign-flip test of fewer pairs cannot reach 5 %.
FEWEST_PAIRS = 6


def paired_difference(before: Iterable[Row], after: Iterable[Row]) -> dict[str, Any]:
    """Return how the pass rate changed on the tasks that both lists hold graded rows of.

    The interval is Student's over the tasks' changes. Its variance is never taken below what
    the rollouts of the tasks explain by themselves, so that a handful of equal changes does not
    pass for certainty.

    Args:
        before: Graded rows of the one agent.
        after: Graded rows of the other.

    Returns:
        `n_tasks` (shared graded tasks), `before` and `after` (mean pass rates over them),
        `difference`, `ci95` (None under six tasks), `separated` (the interval leaves out 0) and
        `note`.
    """
    first, second = Tally.of(before).graded, Tally.of(after).graded
    shared = [task for task in first if task in second]
    pairs = [(first[task], second[task]) for task in shared]
    n = len(pairs)
    report: dict[str, Any] = {
        "n_tasks": n,
        "before": _mean([one.rate for one, _ in pairs]),
        "after": _mean([other.rate for _, other in pairs]),
        "difference": _mean([other.rate - one.rate for one, other in pairs]),
        "ci95": None,
        "separated": False,
        "note": "",
    }
    if n < FEWEST_PAIRS:
        report["note"] = f"{n} shared tasks; an interval takes {FEWEST_PAIRS}"
        return report
    low, high = _interval(pairs, report["difference"])
    report["ci95"] = [low, high]
    report["separated"] = low > 0 or high < 0
    return report


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _interval(pairs: Sequence[tuple[Group, Group]], difference: float) -> Interval:
    n = len(pairs)
    spread = math.fsum((b.rate - a.rate - difference) ** 2 for a, b in pairs) / (n - 1)
    chance = _chance([a for a, _ in pairs]) + _chance([b for _, b in pairs])
    half = t_quantile(0.975, n - 1) * math.sqrt(max(spread, chance) / n)
    return Interval(max(-1.0, difference - half), min(1.0, difference + half))


def _chance(groups: Sequence[Group]) -> float:
    """Return the mean variance of a task's rate that its rollouts alone would cause."""
    passed, graded = sum(g.passed for g in groups), sum(g.graded for g in groups)
    middle = (passed + 0.5) / (graded + 1)
    total = 0.0
    for group in groups:
        # One imagined rollout at the common rate keeps a unanimous task from being certain.
        rate = (group.passed + middle) / (group.graded + 1)
        total += rate * (1 - rate) / group.graded
    return total / len(groups)
