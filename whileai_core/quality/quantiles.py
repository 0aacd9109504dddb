"""Quantiles of the normal, Student's t and the beta distribution, in closed form or bisection.

The regularised incomplete beta function is evaluated by its continued fraction (DLMF 8.17.22)
with the method of Lentz; everything else follows from it.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_TINY = 1e-300
_PRECISION = 1e-16
_MOST_TERMS = 100_000
_BISECTIONS = 200
_NEARLY_NORMAL = 10_000  # degrees of freedom from which the expansion is as good as the fraction


def normal_quantile(probability: float) -> float:
    """Return the value a standard normal variable stays below with this probability."""
    return NormalDist().inv_cdf(probability)


def t_quantile(probability: float, df: float) -> float:
    """Return the value a Student's t variable with `df` degrees of freedom stays below."""
    if probability < 0.5:
        return -t_quantile(1 - probability, df)
    if df > _NEARLY_NORMAL:
        return _t_near_normal(normal_quantile(probability), df)
    # P(|T| <= t) is the incomplete beta function at t²/(df + t²).
    share = beta_quantile(2 * probability - 1, 0.5, df / 2)
    return math.sqrt(df * share / (1 - share)) if share < 1 else math.inf


def _t_near_normal(z: float, df: float) -> float:
    """Return a quantile from the normal one by its expansion in 1/df (Cornish and Fisher)."""
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / df + second / df**2 + third / df**3


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Return the value a Beta(a, b) variable stays below with this probability."""
    if probability <= 0:
        return 0.0
    if probability >= 1:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if incomplete_beta(middle, a, b) < probability:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the probability that a Beta(a, b) variable is at most x."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    log_front = (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # The fraction converges quickly on this side of the mean only.
    if x < (a + 1) / (a + b + 2):
        return math.exp(log_front) * _fraction(x, a, b) / a
    return 1 - math.exp(log_front) * _fraction(1 - x, b, a) / b


def _fraction(x: float, a: float, b: float) -> float:
    numerator, denominator = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = denominator
    for m in range(1, _MOST_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        change = 1.0
        for term in (even, odd):
            denominator = 1 / _away_from_zero(1 + term * denominator)
            numerator = _away_from_zero(1 + term / numerator)
            change = denominator * numerator
            value *= change
        if abs(change - 1) < _PRECISION:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
