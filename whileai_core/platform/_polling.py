"""Waiting for a job that runs on the platform."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, TypeVar

import anyio

from whileai_core.errors import PlatformError, StillRunning

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

T = TypeVar("T")

_SHORTEST_POLL = 0.2
_GROWTH = 1.5
_LONGEST_POLL_FACTOR = 4
_FIRST_READ_SECONDS = 5.0  # even a timeout of 0 looks once

log = logging.getLogger(__name__)


async def wait_for(
    look: Callable[[], Awaitable[T | None]], *, timeout: float, poll: float, job: str
) -> T:
    """Look until there is a result; reads that fail for a while do not end the wait.

    Args:
        look: Reads once: the result, None while the job runs, an error when it failed.
        timeout: Seconds after which waiting ends; a read on its way does not extend it.
        poll: Seconds between reads at first; grows to four times that.
        job: What is waited for, for messages.

    Raises:
        StillRunning: The job is not done after `timeout`; it goes on on the platform.
    """
    end = anyio.current_time() + timeout
    interval = max(poll, _SHORTEST_POLL)
    longest = interval * _LONGEST_POLL_FACTOR
    trouble: PlatformError | None = None
    bound = max(timeout, _FIRST_READ_SECONDS)
    while True:
        with anyio.move_on_after(bound):
            try:
                result = await look()
                trouble = None
                if result is not None:
                    return result
            except PlatformError as error:
                if not error.retryable:
                    raise
                log.info("%s: a look failed, waiting goes on", job)
                trouble = error
        remaining = end - anyio.current_time()
        if remaining <= 0:
            raise _still_running(job, timeout, trouble) from None
        await anyio.sleep(min(interval, remaining))
        interval = min(interval * _GROWTH, longest)
        bound = max(end - anyio.current_time(), _SHORTEST_POLL)


def _still_running(job: str, timeout: float, trouble: PlatformError | None) -> StillRunning:
    last = f"; the last look failed: {trouble}" if trouble is not None else ""
    return StillRunning(
        f"{job} is still running after {timeout:g} s; it goes on on the platform, look again "
        f"later or wait longer with timeout={last}"
    )
