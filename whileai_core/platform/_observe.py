"""What is told of requests: counters and log records, by route, without ids, keys or addresses."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.platform._call import Call

# Every other segment of a path is an id or a name.
_WORDS = frozenset(
    {
        "agents",
        "auth",
        "catalog",
        "chat",
        "completions",
        "datasets",
        "download",
        "finalize",
        "hf",
        "hf-publish",
        "import-hf",
        "issue-credential",
        "me",
        "meta",
        "preview",
        "profile",
        "publish",
        "refresh-credential",
        "runs",
        "traces",
        "unpublish",
    }
)

log = logging.getLogger("whileai_core.platform.requests")

_silent: ContextVar[bool] = ContextVar("whileai_silent_httpx", default=False)


class _NotOurs(logging.Filter):
    """Keep httpx from logging our requests: it writes presigned addresses in full."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _silent.get()


logging.getLogger("httpx").addFilter(_NotOurs())


@dataclass(slots=True)
class _Counts:
    attempts: int = 0
    retries: int = 0
    failures: int = 0
    seconds: float = 0.0
    bytes_sent: int = 0
    bytes_received: int = 0


_counts: dict[str, _Counts] = {}
_lock = threading.Lock()


def counters() -> dict[str, dict[str, float]]:
    """Return what this process has asked of platforms, by method and route.

    Returns:
        For each route such as `POST /datasets/{id}/finalize` (`PUT presigned` and
        `GET presigned` for uploads and parts): `attempts`, of these `retries` and `failures`,
        `seconds`, `bytes_sent`, `bytes_received`.
    """
    with _lock:
        return {route: asdict(counts) for route, counts in sorted(_counts.items())}


@dataclass(slots=True)
class Attempt:
    """One attempt while it is under way; who makes it fills in what came of it."""

    status: int | None = None
    bytes_received: int = 0
    failed: bool = True


@contextmanager
def observed(call: Call, number: int, request_id: str) -> Iterator[Attempt]:
    """Count and log one attempt of a call, whatever comes of it; httpx is kept silent."""
    attempt = Attempt()
    silent = _silent.set(True)
    started = time.monotonic()
    try:
        yield attempt
    finally:
        _silent.reset(silent)
        seconds = time.monotonic() - started
        _count(call, attempt, number, seconds)
        log.log(
            logging.INFO if attempt.failed else logging.DEBUG,
            "%s %s -> %s (attempt %d)",
            call.method,
            call.route,
            attempt.status or "no answer",
            number,
            extra={
                "http_method": call.method,
                "http_route": call.route,
                "http_status": attempt.status,
                "attempt": number,
                "duration_ms": round(seconds * 1000, 1),
                "bytes_received": attempt.bytes_received,
                "request_id": request_id,
            },
        )


def _count(call: Call, attempt: Attempt, number: int, seconds: float) -> None:
    with _lock:
        counts = _counts.setdefault(f"{call.method} {call.route}", _Counts())
        counts.attempts += 1
        counts.retries += number > 1
        counts.failures += attempt.failed
        counts.seconds += seconds
        counts.bytes_sent += int(call.headers.get("Content-Length", 0))
        counts.bytes_received += attempt.bytes_received


def route_of(path: tuple[str, ...]) -> str:
    """Return a path with its ids and names left out."""
    return "/" + "/".join(part if part in _WORDS else "{id}" for part in path)
