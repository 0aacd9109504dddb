"""The holdout split of a push: whole tasks by a hash of their key, the same everywhere."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from whileai_core.errors import InputError
from whileai_core.quality.tasks import checked_rows

if TYPE_CHECKING:
    from whileai_core.rows import Row

_HASH_DIGITS = 8
_HIGHEST = 0xFFFFFFFF  # what that many digits can say
_KEYS = ("scenario_id", "task_id", "prompt")


def split_holdout(rows: object, fraction: float | None) -> tuple[list[Row], list[Row]]:
    """Return the rows to train on and those held out; a task is on one side only.

    Args:
        rows: The rows.
        fraction: Share of the tasks to hold out, reached by hashing and so only roughly; nothing
            is held out when it is 0 or None.

    Raises:
        InputError: The fraction is not between 0 and 1, or nothing is left to train on.
    """
    listed = checked_rows(rows)
    share = checked_fraction(fraction)
    if share is None:
        return listed, []
    train: list[Row] = []
    held: list[Row] = []
    for row in listed:
        (held if bucket(split_key(row)) < share else train).append(row)
    if not train:
        raise InputError(
            f"holding out {share:g} leaves no rows to train on ({len(listed)} rows); "
            "hold out less or bring more tasks"
        )
    return train, held


def split_key(row: Row) -> str:
    """Return the text whose hash decides the side of a row; all rows of a task share it."""
    for name in _KEYS:
        if value := row.get(name):
            return str(value)
    return ""


def bucket(key: str) -> float:
    """Return the place of a split key between 0 and 1."""
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
    return int(digest[:_HASH_DIGITS], 16) / _HIGHEST


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
