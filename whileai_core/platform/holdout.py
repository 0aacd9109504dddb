"""The holdout side of a push: which rows it gets, and whether it is large enough."""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING

from whileai_core.errors import InputError

if TYPE_CHECKING:
    from whileai_core.rows import Row

_HASH_DIGITS = 8
_CONFIDENCE, _POWER = 0.975, 0.8
_PRIOR_PASS_RATE = 0.6  # assumed where the graded rows cannot tell (none, or nearly all pass)
_TOO_GOOD = 0.9


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


@dataclass(slots=True)
class Census:
    """Rows, graded rows and passes of every task of one side, counted while rows pass by."""

    _tasks: dict[bytes, list[int]] = field(default_factory=dict)

    def add(self, row: Row, key: str) -> None:
        """Count one row under its task."""
        digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        counts = self._tasks.setdefault(digest, [0, 0, 0])
        counts[0] += 1
        reward = row.get("reward")
        if not isinstance(reward, bool) and reward in (0, 1):
            counts[1] += 1
            counts[2] += reward == 1

    @property
    def tasks(self) -> int:
        """Number of distinct tasks."""
        return len(self._tasks)

    def tasks_needed(self, effect: float) -> int:
        """Return how many tasks prove a change of the pass rate by `effect` (95 %, power 80 %).

        Raises:
            InputError: The effect is not between 0 and 1.
        """
        if not 0 < effect < 1:
            raise InputError(f"prove_effect={effect!r} must be above 0 and below 1")
        graded = [counts for counts in self._tasks.values() if counts[1]]
        if graded:
            base = sum(passes / n for _, n, passes in graded) / len(graded)
            per_task = min(n for _, n, _ in graded)
            if base >= _TOO_GOOD or base == 0:
                base = _PRIOR_PASS_RATE
        else:
            base = _PRIOR_PASS_RATE
            per_task = min(rows for rows, _, _ in self._tasks.values())
        after = min(1.0, base + effect)
        deviation = math.sqrt((base * (1 - base) + after * (1 - after)) / per_task)
        normal = NormalDist()
        quantiles = normal.inv_cdf(_CONFIDENCE) + normal.inv_cdf(_POWER)
        return max(2, math.ceil((quantiles * deviation / effect) ** 2))

    def warn_if_small(self, effect: float, *, name: str) -> None:
        """Warn when a holdout set is too small to prove an effect of the wanted size."""
        if not self._tasks:
            return
        needed = self.tasks_needed(effect)
        if self.tasks < needed:
            warnings.warn(
                f"holdout {name!r} has {self.tasks} tasks; proving an effect of {effect:g} takes "
                f"{needed}. Hold out more tasks or expect only larger effects to show",
                UserWarning,
                stacklevel=2,
            )
