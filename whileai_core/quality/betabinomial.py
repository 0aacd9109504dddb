"""How far a mean pass rate may be off when tasks differ in difficulty: a Beta-binomial posterior.

Each task has a pass rate of its own, drawn from a Beta distribution with mean μ; ρ is how much
tasks differ (0: all alike, 1: each always passes or always fails). The prior is flat in
arcsin √μ (Jeffreys' for a rate) and in arcsin √ρ, with a fifth of its weight at ρ = 0. The
posterior is summed over a grid that is drawn anew around the mass until it fits.

A small sample that met no easy or no hard task looks more regular than it is; the sum over ρ
allows for that where an estimate of the spread does not.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_ALIKE_PRIOR = 0.2
_ALIKE = 1e-7  # stands for ρ = 0, where the formula has no value
_COARSE, _FINE = (51, 17), (201, 41)  # grid points for rates and spreads
_ZOOMS = 2
_NEGLIGIBLE = 18.0  # logarithms below the top at which the grid may end
_RIGHT_ANGLE = math.pi / 2


class TaskCounts(NamedTuple):
    """Tasks by outcome: `tasks[i]` tasks had `passed[i]` passes in `graded[i]` rows."""

    passed: Sequence[int]
    graded: Sequence[int]
    tasks: Sequence[int]


class _Grid(NamedTuple):
    low: float
    high: float
    spread_low: float
    spread_high: float


class _Posterior(NamedTuple):
    """What is known of mean and spread: a grid, its points, the fit and the mass at each."""

    grid: _Grid
    angles: NDArray[np.float64]
    rho: NDArray[np.float64]
    fit: NDArray[np.float64]
    mass: NDArray[np.float64]


def posterior_offsets(counts: TaskCounts, tail: float) -> tuple[float, float]:
    """Return how far below and above the best fit the mean pass rate may lie.

    Both are distances in arcsin √rate, the scale on which the spread of a rate is steady. `tail`
    is the probability left out on each side.
    """
    found = _posterior(counts)
    mass = found.mass.sum(axis=1)
    best = _peak(found.angles, found.fit.max(axis=1))
    if not any(counts.passed):
        best = 0.0
    elif list(counts.passed) == list(counts.graded):
        best = _RIGHT_ANGLE
    low, high = (_quantile(found.grid, mass, share) for share in (tail, 1 - tail))
    return best - low, high - best


def posterior_power(counts: TaskCounts, k: int, tail: float) -> tuple[float, float]:
    """Return between what values the mean over tasks of (pass rate)^k may lie.

    That is pass^k: a Beta(α, β) rate has the mean k-th power α(α+1)…(α+k-1) over the same
    product of α + β.
    """
    import numpy as np

    found = _posterior(counts)
    total = 1 / found.rho[None, :] - 1
    alpha = np.sin(found.angles[:, None]) ** 2 * total
    powers = np.ones_like(alpha)
    for step in range(k):
        powers *= (alpha + step) / (total + step)
    order = powers.argsort(axis=None)
    below = np.cumsum(found.mass.ravel()[order])
    low, high = np.interp((tail, 1 - tail), below / below[-1], powers.ravel()[order])
    return float(low), float(high)


def _posterior(counts: TaskCounts) -> _Posterior:
    import numpy as np

    grid = _Grid(0.0, _RIGHT_ANGLE, 0.0, _RIGHT_ANGLE)
    for zoom in range(_ZOOMS + 1):
        n_rates, n_spreads = _COARSE if zoom < _ZOOMS else _FINE
        angles = _midpoints(grid.low, grid.high, n_rates)
        spreads = _midpoints(grid.spread_low, grid.spread_high, n_spreads)
        width = (grid.spread_high - grid.spread_low) / _RIGHT_ANGLE
        rho = np.concatenate(([_ALIKE], np.sin(spreads) ** 2))
        prior = np.full(len(rho), (1 - _ALIKE_PRIOR) * width / n_spreads)
        prior[0] = _ALIKE_PRIOR
        fit = _log_likelihood(counts, np.sin(angles) ** 2, rho)
        weight = fit - fit.max() + np.log(prior)
        if zoom < _ZOOMS:
            grid = _around_mass(grid, weight)
    return _Posterior(grid, angles, rho, fit, np.exp(weight - weight.max()))


def _peak(places: NDArray[np.float64], heights: NDArray[np.float64]) -> float:
    """Return where a curve is highest, by the parabola through its three highest points."""
    top = min(max(int(heights.argmax()), 1), len(heights) - 2)
    before, at, after = (float(height) for height in heights[top - 1 : top + 2])
    bend = before - 2 * at + after
    shift = 0.0 if bend >= 0 else min(1.0, max(-1.0, (before - after) / (2 * bend)))
    return float(places[top]) + shift * float(places[1] - places[0])


def _midpoints(low: float, high: float, number: int) -> NDArray[np.float64]:
    import numpy as np

    return low + (high - low) * (np.arange(number) + 0.5) / number


def _log_likelihood(
    counts: TaskCounts, mu: NDArray[np.float64], rho: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the log-likelihood at every pair of mean and spread, up to a constant.

    The rising factorials of the Beta-binomial are summed term by term, each weighted with the
    number of tasks that reach it.
    """
    import numpy as np

    total = 1 / rho[None, :] - 1
    alpha, beta = mu[:, None] * total, (1 - mu)[:, None] * total
    failed = [n - c for n, c in zip(counts.graded, counts.passed, strict=True)]
    fit = np.zeros_like(alpha)
    for base, reached, sign in (
        (alpha, counts.passed, 1.0),
        (beta, failed, 1.0),
        (total, counts.graded, -1.0),
    ):
        for step, tasks in enumerate(_tasks_reaching(reached, counts.tasks)):
            fit += sign * tasks * np.log(base + step)
    return fit


def _tasks_reaching(reached: Sequence[int], tasks: Sequence[int]) -> list[float]:
    """Return, for j = 0, 1, …, how many tasks count more than j."""
    import numpy as np

    at = np.bincount(np.asarray(reached), weights=np.asarray(tasks, dtype=np.float64))
    return [float(number) for number in at[::-1].cumsum()[::-1][1:]]


def _around_mass(grid: _Grid, weight: NDArray[np.float64]) -> _Grid:
    import numpy as np

    heavy = weight > weight.max() - _NEGLIGIBLE
    low, high = _narrowed(grid.low, grid.high, heavy.any(axis=1))
    inner = heavy[:, 1:].any(axis=0)
    if not inner.any():
        inner = np.zeros_like(inner)
        inner[0] = True
    spread_low, spread_high = _narrowed(grid.spread_low, grid.spread_high, inner)
    return _Grid(low, high, spread_low, spread_high)


def _narrowed(low: float, high: float, heavy: NDArray[np.bool_]) -> tuple[float, float]:
    places = heavy.nonzero()[0]
    step = (high - low) / len(heavy)
    return (
        max(low, low + step * (float(places[0]) - 1)),
        min(high, low + step * (float(places[-1]) + 2)),
    )


def _quantile(grid: _Grid, mass: NDArray[np.float64], probability: float) -> float:
    import numpy as np

    edges = np.linspace(grid.low, grid.high, len(mass) + 1)
    below = np.concatenate(([0.0], np.cumsum(mass) / mass.sum()))
    return float(np.interp(probability, below, edges))
