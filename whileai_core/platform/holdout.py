"""The holdout side of a push: which rows it gets."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whileai_core.errors import InputError

if TYPE_CHECKING:
    from whileai_core.rows import Row

_HASH_DIGITS = 8


def split_key(row: Row) -> str:
    """Return the text whose hash decides the side of a row; all rows of a task share it."""
    for name in ("scenario_id", "task_id", "prompt"):
        if value := row.get(name):
            return str(value)
    return ""


def bucket(key: str) -> float:
    """Return the place of a split key between 0 and 1."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return int(digest[:_HASH_DIGITS], 16) / 0xFFFFFFFF


def checked_fraction(fraction: float | None) -> float | None:
    """Return the holdout fraction, None when nothing is to be held out.

    Raises:
        InputError: It is not between 0 and 1.
    """
    if not fraction:
        return None
    if isinstance(fraction, bool) or not 0 < fraction < 1:
        raise InputError(f"holdout={fraction!r} must be a fraction above 0 and below 1")
    return float(fraction)
