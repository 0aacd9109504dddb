"""pass@1, pass^k and pass@k over tasks, each with its interval and n.

With c passes in n rows of a task, C(c, k) / C(n, k) is the chance that k rows drawn from it all
pass, and 1 - C(n - c, k) / C(n, k) that at least one does: unbiased for pass^k and pass@k
(Chen et al., arXiv:2107.03374). The rates reported are means over tasks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from whileai_core.errors import InputError
from whileai_core.quality.grades import is_partial
from whileai_core.quality.intervals import (
    FEWEST_TASKS,
    Interval,
    bootstrap_interval,
    power_interval,
    task_rate_interval,
    wilson_interval,
)
from whileai_core.quality.reports import Report
from whileai_core.quality.runconfig import run_config
from whileai_core.quality.tasks import Group, Tally, checked_rows
from whileai_core.quality.wording import rate_text


class PassRates(Report):
    """The report of `pass_at`; printed, it is one line."""

    def __str__(self) -> str:
        k = self["k"]
        parts = [
            rate_text(f"pass@1 {_figure(self['pass_at_1'])}", self["interval95"]),
            rate_text(f"pass^{k} {_figure(self['pass_pow_k'])}", self["pass_pow_k_interval95"]),
            rate_text(f"pass@{k} {_figure(self['pass_at_k'])}", self["pass_at_k_interval95"]),
            f"headroom {_figure(self['headroom'])}",
        ]
        notes = f"; {self['note']}" if self["note"] else ""
        return (
            f"{' | '.join(parts)} ({self['n_groups']} tasks, {self['n_rows']} rows, k={k}{notes})"
        )


def pass_at(
    rows: object,
    k: int | None = None,
    min_k: int = 4,
    unanimous_short: bool = False,
) -> PassRates:
    """Return pass@1, pass^k, pass@k and the headroom between, over tasks.

    Args:
        rows: Graded rows. Ungraded ones are left out; booleans count as 0 and 1.
        k: Repeats per task; by default those of the shortest task with at least two.
        min_k: Smallest k for which pass^k and pass@k are given.
        unanimous_short: Count a task with fewer than k rows that all agree as its value.

    Returns:
        The rates with three kinds of intervals. `ci95` (and `pass_pow_k_ci95`,
        `pass_at_k_ci95`) is the documented bootstrap over tasks, which covers too little below
        some fifty tasks. `interval95` (and `pass_pow_k_interval95`, `pass_at_k_interval95`) is
        the one to read, and `recommended` names it. `rows_ci95` takes the rows as independent;
        it describes these tasks, not others like them. `common_k` has pass^k and pass@k at the
        largest k that half of the repeated tasks reach, for tasks of uneven size.

    Raises:
        InputError: k is below 1, or `rows` is no list of rows.
    """
    listed = checked_rows(rows)
    if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
        raise InputError(f"k={k!r} must be a whole number of repeats, 1 or more")
    tally = Tally.of(listed)
    report = pass_rates(tally, k=k, min_k=min_k, unanimous_short=unanimous_short)
    report["n_partial"] = sum(map(is_partial, listed))
    report["note"] = "; ".join(_notes(report, tally, min_k))
    report["config"] = run_config(listed)
    return report


def pass_rates(
    tally: Tally, *, k: int | None = None, min_k: int = 4, unanimous_short: bool = False
) -> PassRates:
    """Return what `pass_at` returns from rows counted already, without `config` and partials."""
    groups = list(tally.graded.values())
    if k is None:
        k = min((group.graded for group in groups if group.graded > 1), default=1)
    rates = [group.rate for group in groups]
    reached, imputed = _reaching(groups, k, min_k, unanimous_short)
    all_pass, any_pass = _powers(reached, k)
    all_pass_interval, any_pass_interval = _power_intervals(reached, k)
    passed, graded = [g.passed for g in groups], [g.graded for g in groups]
    report = PassRates(
        k=k,
        pass_at_1=_mean(rates),
        pass_pow_k=_mean(all_pass),
        pass_at_k=_mean(any_pass),
        headroom=None,
        n_groups=len(groups),
        n_groups_at_k=len(reached),
        n_groups_imputed=imputed,
        n_partial=0,
        n_rows=sum(graded),
        ci95=_documented(rates),
        pass_pow_k_ci95=_documented(all_pass),
        pass_at_k_ci95=_documented(any_pass),
        ci95_method=_documented_method(rates),
        interval95=_listed(task_rate_interval(passed, graded)),
        pass_pow_k_interval95=_listed(all_pass_interval),
        pass_at_k_interval95=_listed(any_pass_interval),
        rows_ci95=_listed(wilson_interval(sum(passed), sum(graded))),
        recommended="interval95" if groups else None,
        common_k=_at_common_k(groups),
        note="",
    )
    if reached and groups:
        report["headroom"] = report["pass_at_k"] - report["pass_at_1"]
    report["note"] = "; ".join(_notes(report, tally, min_k))
    return report


def _at_common_k(groups: list[Group]) -> dict[str, Any] | None:
    """Return pass^k and pass@k at the largest k that half of the repeated tasks reach.

    Uneven tasks make the documented k that of the shortest one; this one they do not spoil.
    """
    sizes = sorted((group.graded for group in groups if group.graded > 1), reverse=True)
    if not sizes:
        return None
    k = sizes[(len(sizes) + 1) // 2 - 1]
    reached = [group for group in groups if group.graded >= k]
    all_pass, any_pass = _powers(reached, k)
    all_pass_interval, any_pass_interval = _power_intervals(reached, k)
    return {
        "k": k,
        "pass_pow_k": _mean(all_pass),
        "pass_pow_k_interval95": _listed(all_pass_interval),
        "pass_at_k": _mean(any_pass),
        "pass_at_k_interval95": _listed(any_pass_interval),
        "n_groups_at_k": len(reached),
    }


def _powers(groups: list[Group], k: int) -> tuple[list[float], list[float]]:
    """Return, per task, the chance that k of its rows all pass, and that one of them does."""
    return (
        [_chance(group.passed, group.graded, k) for group in groups],
        [1 - _chance(group.graded - group.passed, group.graded, k) for group in groups],
    )


def _power_intervals(groups: list[Group], k: int) -> tuple[Interval | None, Interval | None]:
    """Return the intervals of pass^k and pass@k; of the latter by way of rows that all fail."""
    graded = [group.graded for group in groups]
    all_pass = power_interval([group.passed for group in groups], graded, k)
    all_fail = power_interval([group.graded - group.passed for group in groups], graded, k)
    return all_pass, None if all_fail is None else Interval(1 - all_fail.high, 1 - all_fail.low)


def _reaching(
    groups: list[Group], k: int, min_k: int, unanimous_short: bool
) -> tuple[list[Group], int]:
    """Return the tasks with at least k rows, and how many shorter ones stand in for theirs."""
    if k < min_k:
        return [], 0
    reached, imputed = [], 0
    for group in groups:
        if group.graded >= k:
            reached.append(group)
        elif unanimous_short and not group.mixed:
            reached.append(Group(k, k, k if group.passed else 0))
            imputed += 1
    return reached, imputed


def _chance(good: int, n: int, k: int) -> float:
    """Return the chance that k rows drawn from n are all among the `good` ones."""
    return math.comb(good, k) / math.comb(n, k)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _listed(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [interval.low, interval.high]


def _documented(values: Sequence[float]) -> list[float] | None:
    """Return the bootstrap interval, or Wilson's over tasks where it would be a point."""
    if len(values) >= FEWEST_TASKS and min(values) == max(values):
        return _listed(wilson_interval(values[0] * len(values), len(values)))
    return _listed(bootstrap_interval(values))


def _documented_method(values: Sequence[float]) -> str | None:
    if len(values) < FEWEST_TASKS:
        return None
    return "wilson over tasks" if min(values) == max(values) else "bootstrap over tasks"


def _notes(report: PassRates, tally: Tally, min_k: int) -> list[str]:
    groups = tally.graded.values()
    notes = []
    passed = sum(group.passed for group in groups)
    if report["n_rows"] > 1 and passed in (0, report["n_rows"]):
        notes.append(f"all {report['n_rows']} graded rows {'pass' if passed else 'fail'}")
    sizes = {group.graded for group in groups}
    if len(sizes) > 1:
        notes.append(
            f"tasks have {min(sizes)} to {max(sizes)} graded rows; k={report['k']} is reached by "
            f"{sum(group.graded >= report['k'] for group in groups)} of {report['n_groups']}"
        )
    if 0 < report["n_groups"] < FEWEST_TASKS:
        notes.append(f"{report['n_groups']} tasks say nothing about others; read rows_ci95 too")
    if report["n_groups"] and report["k"] < min_k:
        notes.append(f"pass^k and pass@k need {min_k} graded rows per task")
        common = report["common_k"]
        if common is not None and common["k"] > report["k"]:
            notes.append(f"{common['n_groups_at_k']} tasks reach k={common['k']}: read common_k")
    if report["n_partial"]:
        notes.append(f"{report['n_partial']} rows have a grade between 0 and 1 and are left out")
    return notes


def _figure(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.2f}"
