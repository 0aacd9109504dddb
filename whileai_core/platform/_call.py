"""One logical request and the time it may take, whatever number of attempts it needs."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from whileai_core.platform import _retry
from whileai_core.platform._redact import shown_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

REQUEST_SECONDS = 120.0
SECONDS_PER_MEGABYTE = 4.0
# How object stores refuse a presigned address whose time is over.
EXPIRED_STATUSES = frozenset({400, 401, 403, 410})


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One logical request, whatever number of attempts it takes.

    Attributes:
        route: What it asks for, without ids: for counters and logs.
        replayable: Doing it twice is the same as doing it once.
        idempotency_key: Lets a server that honours it take a repeat for the first one.
        probe: Ask a server not heard of yet whether it honours the key, before a repeat.
        done_when_repeated: Statuses that mean "it worked" when they answer a repeat.
        tries: Attempts at most.
    """

    method: str
    url: str
    route: str = "presigned"
    headers: Mapping[str, str] = field(default_factory=dict)
    content: Callable[[], bytes | AsyncIterator[bytes]] = bytes
    presigned: bool = False
    replayable: bool = True
    idempotency_key: str | None = None
    probe: bool = False
    done_when_repeated: frozenset[int] = frozenset()
    tries: int = _retry.TRIES

    @property
    def shown(self) -> str:
        """The address as messages may show it."""
        return shown_url(self.url, presigned=self.presigned)


class Deadline:
    """One bound for all attempts of a call; it grows with the bytes that came through."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.started = time.monotonic()
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + seconds)

    @property
    def remaining(self) -> float:
        """Seconds left."""
        return self.scope.deadline - anyio.current_time()

    @property
    def elapsed(self) -> float:
        """Seconds used so far."""
        return time.monotonic() - self.started

    def allow_for(self, received: int) -> None:
        """Grant the time that so many bytes may take."""
        extra = received * SECONDS_PER_MEGABYTE / 1_000_000
        self.scope.deadline += extra
        self.seconds += extra


def transfer_seconds(size: int) -> float:
    """Return the time a transfer of so many bytes may take: a floor plus a minimal rate."""
    return REQUEST_SECONDS + SECONDS_PER_MEGABYTE * size / 1_000_000
