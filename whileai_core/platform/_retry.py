"""When to try again: which answers, after how long."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

TRIES = 5
BASE_SECONDS = 0.5
CAP_SECONDS = 20.0

# The server says that it did not take the request: even a create may be sent again.
UNTOUCHED_STATUSES = frozenset({408, 425, 429})
# Faults of a server that no second try mends.
_LASTING_STATUSES = frozenset({501, 505})


def is_passing(status: int) -> bool:
    """Tell whether a second try may do what an answer of this status did not."""
    if status in UNTOUCHED_STATUSES:
        return True
    # Gateways have numbers of their own (520 to 530) for a server that is away.
    return 500 <= status <= 599 and status not in _LASTING_STATUSES


def backoff(attempt: int) -> float:
    """Return the wait after the given attempt (from 1): exponential, capped, full jitter."""
    return random.uniform(0, min(CAP_SECONDS, BASE_SECONDS * 2 ** (attempt - 1)))  # noqa: S311 (jitter)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Read `Retry-After` as seconds from now: a number or an HTTP date; None when unusable."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            moment = parsedate_to_datetime(value)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        seconds = (moment - datetime.now(UTC)).total_seconds()
    return seconds if 0 <= seconds < float("inf") else 0.0
