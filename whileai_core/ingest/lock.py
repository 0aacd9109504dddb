"""One night at a time per agent: a lock that dies with its process, on one machine or several."""

from __future__ import annotations

import hashlib
import os
import re
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whileai_core.atomic import owner_tag
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from whileai_core.ingest.ledger import Ledger

_POLL_SECONDS = 0.2
_WAIT_SECONDS = 3600.0
# A machine that vanished without a word gives its lock up after about a minute.
_KEEPALIVE = {
    "tcp_keepalives_idle": 30,
    "tcp_keepalives_interval": 10,
    "tcp_keepalives_count": 3,
}


@contextmanager
def night_lock(home: Path, ledger: Ledger, *, wait: float = _WAIT_SECONDS) -> Iterator[None]:
    """Hold the nights of the ledger's agent for the block; wait for another run to end first.

    A ledger on a server is shared, so the lock is the server's (an advisory lock of
    PostgreSQL, held by a connection of its own). Otherwise it is a file of the home folder.
    Either is given up when the process dies. A run whose connection broke may go on without
    the lock; the ledger takes nothing from it once another run has it.

    Raises:
        StoreError: Another run still holds the lock after `wait` seconds, or the ledger failed.
    """
    if ledger.on_server:
        lock = _server_lock(ledger, wait=wait)
    else:
        lock = file_lock(home, ledger.agent, wait=wait)
    with lock:
        ledger.sign_in(owner_tag())
        yield


@contextmanager
def file_lock(home: Path, name: str, *, wait: float = _WAIT_SECONDS) -> Iterator[None]:
    """Hold the kernel's lock on `<home>/locks/<name>.lock` for the block.

    Raises:
        StoreError: Another process still holds it after `wait` seconds.
    """
    import fcntl

    path = home / "locks" / f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)

    def taken() -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    try:
        _wait_for(taken, wait, f"{name!r} has held {path}")
        yield
    finally:
        os.close(descriptor)


@contextmanager
def _server_lock(ledger: Ledger, *, wait: float) -> Iterator[None]:
    digest = hashlib.sha256(f"night of {ledger.agent}".encode("utf-8", "surrogatepass")).digest()
    key = int.from_bytes(digest[:8], signed=True)
    with ledger.session() as ask:
        for name, value in _KEEPALIVE.items():
            ask(f"SELECT set_config('{name}', '{value}', false)")

        def taken() -> bool:
            return bool(ask(f"SELECT pg_try_advisory_lock({key})"))

        _wait_for(taken, wait, f"{ledger.agent!r} has held its lock in the ledger's database")
        yield


def _wait_for(taken: Callable[[], bool], wait: float, held: str) -> None:
    deadline = time.monotonic() + wait
    while not taken():
        if time.monotonic() >= deadline:
            raise StoreError(
                f"another run for {held} for {wait:.0f} s; look at that run, then try again"
            )
        time.sleep(_POLL_SECONDS)
