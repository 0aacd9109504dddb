"""Rates in words: never without their interval and n."""

from __future__ import annotations

from collections.abc import Sequence

from whileai_core.quality.intervals import wilson_interval


def pass_rate_text(
    passed: float,
    n: int,
    interval: Sequence[float] | None = None,
    *,
    tasks: int | None = None,
) -> str:
    """Write a pass rate with its 95 % interval and n.

    Args:
        passed: Number of passes.
        n: Graded rows.
        interval: The interval, if a better one than Wilson's on independent rows is known.
        tasks: Number of tasks the rows belong to, if they repeat.

    Examples:
        >>> pass_rate_text(3, 4)
        '75.0 % [30.1 – 95.4], n = 4'
        >>> pass_rate_text(0, 0)
        'no graded row, n = 0'
    """
    if n == 0:
        return "no graded row, n = 0"
    of_tasks = "" if tasks is None else f" in {tasks} task{'s' if tasks != 1 else ''}"
    known = interval or wilson_interval(passed, n) or (0.0, 1.0)
    return f"{percent_text(passed / n, known)}, n = {n}{of_tasks}"


def percent_text(rate: float, interval: Sequence[float] | None) -> str:
    """Write a rate in per cent, with its interval if it has one; n is the caller's.

    Examples:
        >>> percent_text(0.75, (0.301, 0.954))
        '75.0 % [30.1 – 95.4]'
    """
    figure = f"{100 * rate:.1f} %"
    return figure if interval is None else f"{figure} [{_span(interval, '.1f')}]"


def points_text(difference: float, interval: Sequence[float] | None) -> str:
    """Write a difference of two rates in percentage points, with its interval if it has one.

    Examples:
        >>> points_text(0.125, (-0.01, 0.26))
        '+12.5 points [-1.0 – +26.0]'
    """
    figure = f"{100 * difference:+.1f} points"
    return figure if interval is None else f"{figure} [{_span(interval, '+.1f')}]"


def _span(interval: Sequence[float], form: str) -> str:
    low, high = (format(100 * limit, form) for limit in interval)
    return f"{low} – {high}"


def rate_text(figure: str, interval: Sequence[float] | None) -> str:
    """Write a share with its interval, if it has one: the form of the line of `pass_at`."""
    return figure if interval is None else f"{figure} [{interval[0]:.2f}..{interval[1]:.2f}]"
