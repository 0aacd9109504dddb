"""Rate limits: a bucket of tokens for every caller, refilled steadily."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_REMEMBERED = 10_000


class Buckets:
    """Token buckets by caller, in this process; those long unused are forgotten.

    Args:
        per_second: Tokens that come back every second; 0 means no limit.
        burst: Tokens of a full bucket.
        clock: Seconds, monotonic.
    """

    def __init__(
        self, per_second: float, burst: int, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> int:
        """Take a token of the caller's; return 0, or the whole seconds until there is one."""
        if not self._per_second:
            return 0
        now = self._clock()
        left, since = self._left.pop(caller, (float(self._burst), now))
        left = min(float(self._burst), left + (now - since) * self._per_second)
        short = 1 - left
        self._left[caller] = (left if short > 0 else left - 1, now)
        if len(self._left) > _REMEMBERED:
            self._left.popitem(last=False)
        return math.ceil(short / self._per_second) if short > 0 else 0
