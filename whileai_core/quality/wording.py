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
    low, high = interval or wilson_interval(passed, n) or (0.0, 1.0)
    of_tasks = "" if tasks is None else f" in {tasks} task{'s' if tasks != 1 else ''}"
    rate = f"{100 * passed / n:.1f} % [{100 * low:.1f} – {100 * high:.1f}]"
    return f"{rate}, n = {n}{of_tasks}"


def rate_text(figure: str, interval: Sequence[float] | None) -> str:
    """Write a figure with its interval, if it has one."""
    return figure if interval is None else f"{figure} [{interval[0]:.2f}..{interval[1]:.2f}]"
