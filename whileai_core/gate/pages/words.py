"""Numbers and values as a page writes them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from whileai_core import jsonio

_LONGEST = 4000


def count(number: int | None) -> str:
    """Write a whole number in groups of three digits; a dash where there is none."""
    return "–" if number is None else f"{number:,}".replace(",", "\u202f")


def size(number: int) -> str:
    """Write a number of bytes."""
    amount = float(number)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def day(milliseconds: int) -> str:
    """Write a time to the minute, in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, UTC).strftime("%Y-%m-%d %H:%M")


def rate(share: float | None, interval: Sequence[float] | None = None) -> str:
    """Write a share as a percentage, with its interval if it has one."""
    if share is None:
        return "–"
    if interval is None:
        return f"{100 * share:.1f} %"
    return f"{100 * share:.1f} % [{100 * interval[0]:.1f} – {100 * interval[1]:.1f}]"


def readable(value: Any) -> str:
    """Write a text as it is and any other value as indented JSON."""
    return value if isinstance(value, str) else jsonio.pretty(value)


def cut(text: str) -> str:
    """Cut a long text, and say how much is left out."""
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]}… ({left} more characters)"
