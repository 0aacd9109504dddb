"""Grades: `reward` only when a grade is cleanly 0 or 1, every other number under `scores`."""

from __future__ import annotations

import math
from typing import Any

from whileai_core.rows import Row


def binary(value: object) -> int | None:
    """Return 0 or 1 when the value says exactly that, else None."""
    number = _number(value)
    return int(number) if number in (0.0, 1.0) else None


def grade(row: Row, value: object, source: str) -> None:
    """Label a row with one grade of a harness; `source` is the field it stood in.

    The first clean grade becomes the reward and later ones scores, so call in order of weight.
    """
    clean = binary(value)
    if clean is not None and "reward" not in row:
        row["reward"] = clean
        row["reward_source"] = source
    else:
        score(row, source, value)


def score(row: Row, name: object, value: object) -> None:
    """Keep one number under `scores`; what is no number is left out."""
    number = _number(value)
    if number is None or not name:
        return
    scores: dict[str, Any] = row.setdefault("scores", {})
    scores.setdefault(str(name), int(number) if number == int(number) else number)


def _number(value: object) -> float | None:
    if not isinstance(value, bool | int | float | str):
        return None
    try:
        number = float(value)
    except (OverflowError, ValueError):
        return None
    return number if math.isfinite(number) else None
