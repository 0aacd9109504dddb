"""One night at a time per agent: a lock that dies with its process."""

from __future__ import annotations

import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_POLL_SECONDS = 0.2


@contextmanager
def night_lock(home: Path, agent: str, *, wait: float = 3600.0) -> Iterator[None]:
    """Hold the agent's lock for the block; wait for another run to end first.

    The lock is the kernel's, on `<home>/locks/<agent>.lock`: a killed process gives it up.

    Args:
        home: Home folder.
        agent: Whose nights must not overlap.
        wait: Seconds to wait for another run.

    Raises:
        StoreError: Another run still holds the lock after `wait`.
    """
    import fcntl

    path = home / "locks" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', agent)}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + wait
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise StoreError(
                        f"another nightly run for agent {agent!r} has held {path} for "
                        f"{wait:.0f} s; look at that run, then try again"
                    ) from None
                time.sleep(_POLL_SECONDS)
        yield
    finally:
        os.close(descriptor)
