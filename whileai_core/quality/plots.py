"""A picture of pass rates, each with its interval and n: one SVG, no dependency.

The bytes depend on the rates alone, so that a report made twice is the same file. The SVG can
be put into HTML as it is, or into Markdown as an image through `data_uri`.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from whileai_core.quality.intervals import wilson_interval

_WIDTH, _LINE = 720, 18
_LEFT, _RIGHT, _TOP, _BOTTOM = 220, 110, 40, 30
_NAME_CHARACTERS = 30
_SHOWN_TASKS = 60
_COLOURS = {"mixed": "#1f6feb", "unanimous": "#8b949e"}


class TaskRate(NamedTuple):
    """Passes out of graded rows of one task."""

    task: str
    passed: int
    graded: int


class RateLine(NamedTuple):
    """One line of a plot: a rate, its 95 % interval, and `n`, the count shown beside it."""

    name: str
    rate: float
    low: float
    high: float
    n: str


def task_rates(per_task: Iterable[dict[str, Any]]) -> list[TaskRate]:
    """Return the graded tasks of a profile's `per_task`."""
    return [
        TaskRate(
            "(no task key)" if entry["task"] is None else str(entry["task"]),
            round(entry["pass_rate"] * entry["graded"]),
            entry["graded"],
        )
        for entry in per_task
        if entry["graded"]
    ]


def pass_rate_plot(rates: Sequence[TaskRate], *, title: str = "Pass rate by task") -> str:
    """Return an SVG of pass rates with their 95 % intervals (Wilson), hardest task first.

    Of more than 60 tasks, 60 are drawn, spread evenly over the order; the title says so.
    """
    ordered = sorted(rates, key=lambda rate: (rate.passed / rate.graded, rate.task))
    shown = _spread(ordered)
    if len(shown) < len(ordered):
        title = f"{title} ({len(shown)} of {len(ordered)} tasks)"
    return rate_plot([_task_line(rate) for rate in shown], title=title)


def rate_plot(lines: Sequence[RateLine], *, title: str) -> str:
    """Return an SVG of rates with their intervals, one line each, in the order given."""
    height = _TOP + _LINE * max(1, len(lines)) + _BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" role="img" font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="18" font-size="13" font-weight="bold">{escape(title)}</text>',
        *_axis(height),
    ]
    if not lines:
        parts.append(f'<text x="{_LEFT}" y="{_TOP + 13}">no graded row</text>')
    for place, line in enumerate(lines):
        parts += _drawn(line, _TOP + _LINE * place + _LINE // 2)
    return "\n".join([*parts, "</svg>", ""])


def data_uri(svg: str) -> str:
    """Return an SVG as an address an image can have: `![](…)` in Markdown, `src=` in HTML."""
    return "data:image/svg+xml;base64," + b64encode(svg.encode()).decode("ascii")


def _spread(rates: Sequence[TaskRate]) -> list[TaskRate]:
    if len(rates) <= _SHOWN_TASKS:
        return list(rates)
    last = len(rates) - 1
    return [rates[place * last // (_SHOWN_TASKS - 1)] for place in range(_SHOWN_TASKS)]


def _x(rate: float) -> str:
    return f"{_LEFT + rate * (_WIDTH - _LEFT - _RIGHT):.1f}"


def _axis(height: int) -> list[str]:
    bottom = height - _BOTTOM
    parts = []
    for percent in (0, 25, 50, 75, 100):
        x = _x(percent / 100)
        parts += [
            f'<line x1="{x}" y1="{_TOP - 4}" x2="{x}" y2="{bottom}" stroke="#d0d7de"/>',
            f'<text x="{x}" y="{bottom + 15}" text-anchor="middle">{percent} %</text>',
        ]
    return parts


def _task_line(rate: TaskRate) -> RateLine:
    low, high = wilson_interval(rate.passed, rate.graded) or (0.0, 1.0)
    share = rate.passed / rate.graded
    return RateLine(rate.task, share, low, high, f"{rate.passed}/{rate.graded}")


def _drawn(line: RateLine, y: int) -> list[str]:
    colour = _COLOURS["mixed" if 0 < line.rate < 1 else "unanimous"]
    name = line.name
    if len(name) > _NAME_CHARACTERS:
        name = name[: _NAME_CHARACTERS - 1] + "…"
    count = line.n.replace("/", " of ")
    says = f"{line.name}: {count} pass, 95 % interval {line.low:.0%} to {line.high:.0%}"
    return [
        f"<g><title>{escape(_drawable(says))}</title>",
        f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{escape(_drawable(name))}</text>',
        f'<line x1="{_x(line.low)}" y1="{y}" x2="{_x(line.high)}" y2="{y}" stroke="{colour}" '
        'stroke-width="2"/>',
        f'<circle cx="{_x(line.rate)}" cy="{y}" r="4" fill="{colour}"/>',
        f'<text x="{_WIDTH - _RIGHT + 12}" y="{y + 4}">{escape(_drawable(line.n))}</text></g>',
    ]


def _drawable(text: str) -> str:
    """Replace what XML cannot hold: control characters and lone surrogates."""
    clean = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return "".join(
        character if character.isprintable() or character == " " else " " for character in clean
    )
