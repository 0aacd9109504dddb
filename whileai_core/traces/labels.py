"""The label of a row: passed, failed, or not graded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from whileai_core.rows import Row

Label = Literal[0, 1]


def binary(value: Any) -> Label | None:
    """Read a grade: booleans and whatever `float()` takes that equals 0 or 1, else None."""
    if value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    if number == 0:
        return 0
    return 1 if number == 1 else None


def label_of(row: Row) -> Label | None:
    """Return the label by `reward`, else by the advisory `qwen_reward`, else None."""
    label = binary(row.get("reward"))
    return binary(row.get("qwen_reward")) if label is None else label
