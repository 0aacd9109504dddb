"""How often nominal 95 % intervals of pass rates hold the true rate.

    python -m benchmarks.study_intervals [--sets 2000] [--powers 500]

A task has a pass rate of its own, its k rollouts are coins of that rate, and an interval covers
when it holds the mean rate. Tasks are alike (`equal`), or their rates come from a Beta
distribution with intraclass correlation ρ (`beta 0.1` …), from a logistic normal one
(`logit 1.5`), or are 5 % or 70 % (`two kinds`).

An interval depends on nothing but how many tasks had 0, 1, … k passes. Where all such histograms
can be listed (one rollout; 20 tasks with four) the coverage is exact: the probability of the
histograms whose interval holds the rate. Elsewhere it is the share of `--sets` seeded draws
(standard error 0.5 points at 2,000). All methods treat passes and failures alike, and so the
cells of rates r and 1 - r are the same; r = 0.9 is not drawn again.

- `documented`: percentile bootstrap over tasks, `ci95` of `pass_at` (Wilson where it is a point).
- `ours`: `interval95` of `pass_at`, the one it recommends; missed below and above: how often the
  true rate lies below, above it.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from whileai_core.quality import power_interval, task_rate_interval
from whileai_core.quality.intervals import Interval, bootstrap_interval, wilson_interval

TASKS, ROLLOUTS, RATES = (20, 50, 200), (1, 4, 16), (0.1, 0.5)
KINDS = ("equal", "beta 0.1", "beta 0.3", "beta 0.5", "logit 1.5", "two kinds")
POWER, ROLLOUTS_OF_POWERS = 4, 8
_MOST_LISTED = 20_000  # histograms
_NODES = 199
_ROUNDING = 1e-12

Histogram = tuple[int, ...]
Method = Callable[[Histogram], Interval]


@cache
def passes(kind: str, k: int, rate: float) -> NDArray[np.float64]:
    """Return the probabilities of 0 … k passes of one task."""
    name, _, number = kind.partition(" ")
    if name == "equal":
        return _binomial(k, np.array([rate])).ravel()
    if name == "beta":
        return _beta_binomial(k, rate, 1 / float(number) - 1)
    if name == "logit":
        return _logistic_normal(k, rate, float(number))
    share = (rate - 0.05) / 0.65
    low, high = _binomial(k, np.array([0.05, 0.7]))
    mixed: NDArray[np.float64] = (1 - share) * low + share * high
    return mixed


def _binomial(k: int, rates: NDArray[np.float64]) -> NDArray[np.float64]:
    c = np.arange(k + 1)
    ways = np.array([math.comb(k, number) for number in c])
    found: NDArray[np.float64] = ways * rates[:, None] ** c * (1 - rates[:, None]) ** (k - c)
    return found


def _beta_binomial(k: int, rate: float, total: float) -> NDArray[np.float64]:
    def rising(base: float, steps: int) -> float:
        return math.prod(base + step for step in range(steps))

    a, b = rate * total, (1 - rate) * total
    ways = [math.comb(k, c) * rising(a, c) * rising(b, k - c) for c in range(k + 1)]
    return np.array(ways, dtype=np.float64) / rising(total, k)


def _logistic_normal(k: int, rate: float, sigma: float) -> NDArray[np.float64]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    weights = weights / weights.sum()
    low, high = -20.0, 20.0
    for _ in range(80):
        centre = (low + high) / 2
        rates = 1 / (1 + np.exp(-(centre + sigma * nodes)))
        low, high = (centre, high) if weights @ rates < rate else (low, centre)
    found: NDArray[np.float64] = weights @ _binomial(k, rates)
    return found


def histograms(n: int, k: int) -> Iterator[Histogram]:
    """Yield how n tasks can fall on 0 … k passes, every way there is."""
    if k == 0:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in histograms(n - first, k - 1):
            yield (first, *rest)


def _tasks(histogram: Histogram) -> list[int]:
    return [c for c, tasks in enumerate(histogram) for _ in range(tasks)]


@lru_cache(maxsize=1_000_000)
def ours(histogram: Histogram) -> Interval:
    """Return the recommended interval of pass@1."""
    passed = _tasks(histogram)
    found = task_rate_interval(passed, [len(histogram) - 1] * len(passed))
    return found or Interval(0, 1)


@lru_cache(maxsize=1_000_000)
def documented(histogram: Histogram) -> Interval:
    """Return the documented interval of pass@1."""
    rates = [c / (len(histogram) - 1) for c in _tasks(histogram)]
    if rates[0] == rates[-1]:
        return wilson_interval(rates[0] * len(rates), len(rates)) or Interval(0, 1)
    return bootstrap_interval(rates) or Interval(0, 1)


def misses(
    method: Method, law: NDArray[np.float64], n: int, truth: float, sets: int
) -> tuple[float, float, bool]:
    """Return how often a true value lies below and above an interval, and whether that is exact.

    Args:
        method: Histogram to interval.
        law: Probabilities of 0 … k passes of one task.
        n: How many tasks.
        truth: The value to hold.
        sets: How many sets to draw where there are too many to list.
    """
    k = len(law) - 1
    exact = math.comb(n + k, k) <= _MOST_LISTED
    if exact:
        listed = list(histograms(n, k))
        weights = [_probability(histogram, law) for histogram in listed]
    else:
        rng = np.random.default_rng([n, k, sets])
        drawn = rng.multinomial(n, law / law.sum(), size=sets)
        listed = [tuple(histogram) for histogram in drawn.tolist()]
        weights = [1 / sets] * sets
    below = above = 0.0
    for histogram, weight in zip(listed, weights, strict=True):
        low, high = method(histogram)
        below += weight * (truth < low - _ROUNDING)
        above += weight * (truth > high + _ROUNDING)
    return below, above, exact


def _probability(histogram: Histogram, law: NDArray[np.float64]) -> float:
    logarithm = math.lgamma(sum(histogram) + 1)
    for tasks, chance in zip(histogram, law.tolist(), strict=True):
        if tasks:
            logarithm += tasks * math.log(chance) - math.lgamma(tasks + 1)
    return math.exp(logarithm)


def study_rates(sets: int) -> None:
    """Print the coverage of pass@1 in every cell."""
    print("| kind | tasks | rollouts | rate | documented | ours | missed below, above | how |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for n in TASKS:
            for k in ROLLOUTS:
                for rate in RATES:
                    law = passes(kind, k, rate)
                    old = sum(misses(documented, law, n, rate, min(sets, 1000))[:2])
                    below, above, exact = misses(ours, law, n, rate, sets)
                    how = "exact" if exact else f"{sets} sets"
                    print(
                        f"| {kind} | {n} | {k} | {rate} | {100 * (1 - old):.1f} "
                        f"| {100 * (1 - below - above):.1f} | {100 * below:.1f}, {100 * above:.1f} "
                        f"| {how} |",
                        flush=True,
                    )


def study_powers(sets: int) -> None:
    """Print the coverage of pass^4; pass@4 at a rate is that of pass^4 at 1 less the rate."""
    print(f"\npass^{POWER} of tasks with {ROLLOUTS_OF_POWERS} rollouts, {sets} sets\n")
    print("| kind | tasks | rate | pass^4 | documented | ours |\n|---|---|---|---|---|---|")
    for kind in KINDS:
        for n in TASKS:
            for rate in (0.1, 0.5, 0.9):
                law, truth = _law_and_power(kind, rate)
                shares = [
                    f"{100 * (1 - sum(misses(method, law, n, truth, sets)[:2])):.1f}"
                    for method in (documented_power, our_power)
                ]
                print(f"| {kind} | {n} | {rate} | {truth:.4f} | {' | '.join(shares)} |", flush=True)


def _law_and_power(kind: str, rate: float) -> tuple[NDArray[np.float64], float]:
    if rate <= 0.5:
        return passes(kind, ROLLOUTS_OF_POWERS, rate), float(passes(kind, POWER, rate)[-1])
    mirrored = passes(kind, ROLLOUTS_OF_POWERS, 1 - rate)[::-1]
    return mirrored, float(passes(kind, POWER, 1 - rate)[0])


@lru_cache(maxsize=1_000_000)
def our_power(histogram: Histogram) -> Interval:
    """Return the recommended interval of pass^4."""
    passed = _tasks(histogram)
    found = power_interval(passed, [len(histogram) - 1] * len(passed), POWER)
    return found or Interval(0, 1)


@lru_cache(maxsize=1_000_000)
def documented_power(histogram: Histogram) -> Interval:
    """Return the documented interval of pass^4."""
    k = len(histogram) - 1
    values = [math.comb(c, POWER) / math.comb(k, POWER) for c in _tasks(histogram)]
    if values[0] == values[-1]:
        return wilson_interval(values[0] * len(values), len(values)) or Interval(0, 1)
    return bootstrap_interval(values) or Interval(0, 1)


def study_few(sets: int) -> None:
    """Print the coverage of our interval for very few tasks."""
    print("\nvery few tasks, four rollouts (ours, exact)\n")
    print("| kind | rate | 3 tasks | 5 tasks | 10 tasks |\n|---|---|---|---|---|")
    for kind in KINDS:
        for rate in RATES:
            law = passes(kind, 4, rate)
            cells = [
                f"{100 * (1 - sum(misses(ours, law, n, rate, sets)[:2])):.1f}" for n in (3, 5, 10)
            ]
            print(f"| {kind} | {rate} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print all tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--powers", type=int, default=500)
    chosen = parser.parse_args()
    study_rates(chosen.sets)
    study_few(chosen.sets)
    study_powers(chosen.powers)


if __name__ == "__main__":
    main()
