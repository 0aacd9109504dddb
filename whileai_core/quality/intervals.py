"""Confidence intervals of pass rates.

- `wilson_interval`: one rate of independent rows (Wilson, JASA 22, 1927).
- `jeffreys_interval`: the same from a Beta(½, ½) prior (Brown, Cai, DasGupta, 2001).
- `bootstrap_interval`: percentile bootstrap over tasks, the documented interval.
- `task_rate_interval`: the mean over tasks of their pass rates, the one to read.
- `power_interval`: pass^k over tasks, the one to read; 1 less that of failures is pass@k.
- `mean_interval`: the mean over tasks of any value between 0 and 1.
- `row_rate_interval`: the share of rows that pass, where rows of a task go together.

How well they cover is measured in benchmarks/study_intervals.py; see docs/quality.md.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from whileai_core.errors import InputError
from whileai_core.quality.betabinomial import TaskCounts, posterior_offsets, posterior_power
from whileai_core.quality.quantiles import beta_quantile, t_quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

Z95 = 1.96  # the rounded quantile the documented intervals use
_TAIL = 0.025
_BOOTSTRAP_DRAWS = 2000
_LOWER_PLACE, _UPPER_PLACE = 50, 1949
FEWEST_TASKS = 3  # below, tasks say nothing about how much tasks differ


class Interval(NamedTuple):
    """A closed interval of rates."""

    low: float
    high: float


def wilson_interval(passed: float, n: float, z: float = Z95) -> Interval | None:
    """Return the Wilson score interval of `passed` out of `n`; None for n = 0.

    Args:
        passed: Number of passes; it need not be whole (an effective number will do).
        n: Number of trials.
        z: Normal quantile; 1.96 is 95 %.

    Raises:
        InputError: The numbers are no such counts.
    """
    if not (n >= 0 and 0 <= passed <= n and math.isfinite(n)):
        raise InputError(f"{passed} passes out of {n} is no rate; give 0 <= passed <= n")
    if n == 0:
        return None
    rate = passed / n
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / scale
    return Interval(max(0.0, centre - half), min(1.0, centre + half))


def jeffreys_interval(passed: float, n: float) -> Interval | None:
    """Return the 95 % interval of a Beta(½, ½) prior; one-sided where all or none passed."""
    if n == 0:
        return None
    a, b = passed + 0.5, n - passed + 0.5
    return Interval(
        beta_quantile(_TAIL, a, b) if passed > 0 else 0.0,
        beta_quantile(1 - _TAIL, a, b) if passed < n else 1.0,
    )


def bootstrap_interval(values: Sequence[float]) -> Interval | None:
    """Return the percentile interval of the mean of `values`; None under three values.

    2,000 seeded draws. It is too narrow for few tasks and a point when all values are equal; it
    is kept because users rely on it.
    """
    import numpy as np

    if len(values) < FEWEST_TASKS:
        return None
    distinct = Counter(values)
    points = np.array(sorted(distinct))
    shares = np.array([distinct[value] for value in points.tolist()]) / len(values)
    draws = np.random.default_rng(0).multinomial(len(values), shares, size=_BOOTSTRAP_DRAWS)
    means = np.sort(draws @ points / len(values))
    return Interval(float(means[_LOWER_PLACE]), float(means[_UPPER_PLACE]))


def mean_interval(values: Sequence[float]) -> Interval | None:
    """Return the 95 % interval of the mean over tasks of values between 0 and 1.

    Wilson's interval on the effective number of tasks, with Student's quantile: n tasks whose
    values vary D times as much as those of a coin with the same mean count as n / D tasks. D is
    at most 1 and is taken as 1 where the tasks cannot tell (equal values, fewer than three).
    """
    n = len(values)
    if n == 0:
        return None
    mean = min(1.0, max(0.0, math.fsum(values) / n))
    effect = _design_effect(mean, _variance(values, mean), n, floor=0.0)
    effective = n / effect
    z = t_quantile(1 - _TAIL, n - 1) if effect < 1 else Z95
    return wilson_interval(mean * effective, effective, z)


def task_rate_interval(passed: Sequence[int], graded: Sequence[int]) -> Interval | None:
    """Return the 95 % interval of the mean over tasks of `passed / graded`.

    With one row per task this is Jeffreys' interval. With repeats it is, on each side, the wider
    of two: Wilson's interval on the effective number of tasks (the spread seen), and the
    Beta-binomial posterior around the same mean (the spread a small sample may have missed).

    Args:
        passed: Passes of each task.
        graded: Graded rows of each task, at least 1.
    """
    n = len(passed)
    if n == 0:
        return None
    if max(graded) == 1:
        return jeffreys_interval(sum(passed), n)
    outcomes = Counter(zip(passed, graded, strict=True))
    mean = math.fsum(times * c / m for (c, m), times in outcomes.items()) / n
    squares = math.fsum(times * (c / m - mean) ** 2 for (c, m), times in outcomes.items())
    least = math.fsum(times / m for (_, m), times in outcomes.items()) / n
    variance = squares / (n - 1) if n > 1 else 0.0
    effective = n / _design_effect(mean, variance, n, floor=least)
    seen = wilson_interval(mean * effective, effective)
    if seen is None:
        return None
    below, above = posterior_offsets(_task_counts(outcomes), _TAIL)
    angle = math.asin(math.sqrt(mean))
    allowed_low = math.sin(max(0.0, angle - max(0.0, below))) ** 2
    allowed_high = math.sin(min(math.pi / 2, angle + max(0.0, above))) ** 2
    return Interval(min(seen.low, allowed_low), max(seen.high, allowed_high))


def power_interval(passed: Sequence[int], graded: Sequence[int], k: int) -> Interval | None:
    """Return the 95 % interval of the mean over tasks of the chance that k rows all pass.

    On each side the wider of two: `mean_interval` of the chances the rows show (unbiased, see
    `passrates`), and the Beta-binomial posterior (the chances a small sample may have missed:
    where none of 20 tasks passes k times, some other task will).

    Args:
        passed: Passes of each task.
        graded: Graded rows of each task, at least k.
        k: How many rows have to pass.
    """
    outcomes = Counter(zip(passed, graded, strict=True))
    seen = mean_interval(
        [
            math.comb(c, k) / math.comb(m, k)
            for (c, m), times in outcomes.items()
            for _ in range(times)
        ]
    )
    if seen is None:
        return None
    low, high = posterior_power(_task_counts(outcomes), k, _TAIL)
    return Interval(min(seen.low, low), max(seen.high, high))


def _task_counts(outcomes: Counter[tuple[int, int]]) -> TaskCounts:
    return TaskCounts([c for c, _ in outcomes], [m for _, m in outcomes], list(outcomes.values()))


def row_rate_interval(passed: Sequence[int], graded: Sequence[int]) -> Interval | None:
    """Return the 95 % interval of the share of all rows that pass.

    Wilson's interval on the effective number of rows: rows of a task are alike, and N of them
    count as N / D, D being the design effect of the ratio (Kish, 1965), at least 1.
    """
    n, tasks = sum(graded), len(graded)
    if n == 0:
        return None
    rate = sum(passed) / n
    effect = max(graded) if tasks < FEWEST_TASKS else 1.0
    if 0 < rate < 1 and tasks >= FEWEST_TASKS:
        squares = math.fsum((c - rate * m) ** 2 for c, m in zip(passed, graded, strict=True))
        effect = squares * tasks / (tasks - 1) / (rate * (1 - rate) * n)
    elif tasks >= FEWEST_TASKS:
        effect = n / tasks
    effective = n / min(max(1.0, effect), max(graded))
    return wilson_interval(rate * effective, effective)


def _variance(values: Sequence[float], mean: float) -> float:
    if len(values) < 2:
        return 0.0
    return math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _design_effect(mean: float, variance: float, n: int, *, floor: float) -> float:
    """Return how much task values vary, as a share of a coin's variance; 1 where unknown."""
    coin = mean * (1 - mean)
    if n < FEWEST_TASKS or coin <= 0 or (variance <= 0 and floor <= 0):
        return 1.0
    return min(1.0, max(floor, variance / coin))
