"""From what went wrong on the wire to the error a caller gets."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from whileai_core.errors import (
    Conflict,
    NotAuthenticated,
    NotFound,
    PlatformError,
    RateLimited,
    Refused,
    Unavailable,
)
from whileai_core.platform._retry import is_passing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.platform._redact import ServerWords

_BY_STATUS: dict[int, type[PlatformError]] = {
    401: NotAuthenticated,
    404: NotFound,
    410: NotFound,
    408: Unavailable,
    409: Conflict,
    425: Unavailable,
    429: RateLimited,
}

_NEXT_STEP: dict[type[PlatformError], str] = {
    NotAuthenticated: "pass api_key= or set WHILEAI_API_KEY to a credential of this platform",
    RateLimited: "wait and run again",
    Unavailable: "run again later",
}


class Failed(Exception):
    """One attempt that failed, with what the retry loop has to know about it.

    Attributes:
        error: What the caller gets if this was the last attempt.
        untouched: The server surely did not act on the request.
        wait: What `Retry-After` asked for, in seconds.
    """

    def __init__(
        self, error: PlatformError, *, untouched: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(str(error))
        self.error = error
        self.untouched = untouched
        self.wait = wait


def status_error(
    status: int, words: ServerWords, *, method: str, url: str, request_id: str
) -> PlatformError:
    """Build the error for an answer that is not a success."""
    fallback = Unavailable if status >= 500 else Refused
    kind = _BY_STATUS.get(status, fallback)
    if 300 <= status < 400:
        detail = "it redirects, and redirects are not followed; set WHILEAI_API_URL to the target"
    else:
        detail = words.detail or "no reason given"
        step = _NEXT_STEP.get(kind)
        detail = f"{detail}; {step}" if step else detail
    return kind(
        f"{method} {url} -> {status}: {detail}",
        status=status,
        method=method,
        url=url,
        detail=words.detail or None,
        code=words.code,
        request_id=request_id,
        retryable=is_passing(status),
    )


def connection_error(reason: str, *, method: str, url: str, request_id: str) -> Unavailable:
    """Build the error for a request that got no complete answer."""
    return Unavailable(
        f"{method} {url} got no complete answer: {reason}; check the address and the network, "
        "then run again",
        method=method,
        url=url,
        detail=reason,
        request_id=request_id,
    )


@contextmanager
def at_stage(stage: str, dataset_id: str | None) -> Iterator[None]:
    """Put the step and the dataset that is left behind on an error that comes through."""
    try:
        yield
    except PlatformError as error:
        told = (error.stage, error.dataset_id) == (stage, dataset_id)
        error.stage = stage
        if dataset_id is not None and not told:
            error.dataset_id = dataset_id
            left = f"dataset {dataset_id} is left on the platform, the same push goes on from there"
            error.args = (f"{error} [stage {stage}; {left}]",)
        raise


@contextmanager
def on_dataset(dataset_id: str) -> Iterator[None]:
    """Put the dataset a call is about on an error that comes through."""
    try:
        yield
    except PlatformError as error:
        error.dataset_id = dataset_id
        raise
