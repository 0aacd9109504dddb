"""How rows are graded: a label of 0 or 1, a number, or nothing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from whileai_core.traces.labels import binary, label_of

if TYPE_CHECKING:
    from whileai_core.rows import Row

__all__ = ["grade_of", "is_partial", "label_of", "out_of_range"]


def grade_of(row: Row, key: str = "reward") -> float | None:
    """Return the grade of a row as a number, or None when it is not graded.

    Booleans and texts that read as 0 or 1 count; NaN, infinities and other texts are no grade.
    """
    value = row.get(key)
    if isinstance(value, int | float):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    label = binary(value)
    return None if label is None else float(label)


def is_partial(row: Row) -> bool:
    """Tell whether a row has a numeric grade but none that reads as 0 or 1."""
    return grade_of(row) is not None and label_of(row) is None


def out_of_range(row: Row) -> bool:
    """Tell whether a row has a grade below 0 or above 1."""
    grade = grade_of(row)
    return grade is not None and not 0 <= grade <= 1
