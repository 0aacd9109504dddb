"""From what `huggingface_hub` and httpx2 raise to our errors, and what is tried again.

Messages are ours: those of the library hold addresses with signatures and span several lines.
"""

from __future__ import annotations

import logging
import random
import re
import time
from typing import TYPE_CHECKING, Any, TypeVar

from whileai_core.errors import (
    BadReply,
    Conflict,
    InputError,
    NotAuthenticated,
    NotFound,
    PlatformError,
    RateLimited,
    Refused,
    SettingsError,
    Unavailable,
    WhileError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx2

T = TypeVar("T")

ATTEMPTS = 5
BASE_SECONDS = 0.5
LONGEST_SECONDS = 300.0  # the Hub counts requests in windows of five minutes
_MAX_WORDS = 200
_USED_UP = re.compile(r"r=0\s*;\s*t=(\d+)")  # no request left, and seconds until there are
_SECRETS = re.compile(r"hf_\w+|Bearer\s+\S+|https?://\S+")

log = logging.getLogger(__name__)


def calling(doing: str, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Call the Hub; what may pass is tried again, what does not becomes one of our errors.

    Args:
        doing: What is being done, for messages: "reading kim/set".
        function: The library's function; it must be harmless when called again.
        args: Its arguments.
        kwargs: Its keyword arguments.

    Raises:
        PlatformError: It failed; `retryable` says whether later may be better.
    """
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return function(*args, **kwargs)
        except Exception as error:
            ours = translated(error, doing)
            if not ours.retryable or attempt == ATTEMPTS:
                raise ours from None
            pause(attempt, error)
    raise AssertionError("unreachable")


def pause(attempt: int, error: BaseException) -> None:
    """Wait before the next attempt, as long as the Hub asks for or longer each time."""
    seconds = BASE_SECONDS * 2**attempt * random.uniform(0.5, 1)  # noqa: S311  jitter
    asked = _retry_after(error)
    log.info("the Hub cannot be used now (%s), trying again", type(error).__name__)
    time.sleep(min(LONGEST_SECONDS, seconds if asked is None else asked))


def translated(error: Exception, doing: str) -> PlatformError:
    """Return our error for one of the library's; one that is ours or a bug comes through.

    Raises:
        WhileError: It was one already.
        Exception: It is nothing the Hub or the network did.
    """
    import httpx2
    from huggingface_hub import errors as hub

    if isinstance(error, PlatformError):
        return error
    if isinstance(error, WhileError):
        raise error
    if isinstance(error, hub.HFValidationError):
        raise InputError(f"{doing}: {_words(str(error))}") from None
    if isinstance(error, hub.HfHubHTTPError):
        return _refusal(error, doing)
    if isinstance(error, hub.OfflineModeIsEnabled):
        raise SettingsError(f"{doing}: HF_HUB_OFFLINE is set; unset it to reach the Hub") from None
    if isinstance(error, httpx2.HTTPError):
        return _broken_off(error, doing)
    # Uploads wrap what went wrong; files of a repository are read through OSErrors.
    cause = error.__cause__
    if isinstance(cause, Exception) and isinstance(error, RuntimeError | OSError):
        return translated(cause, doing)
    if isinstance(error, ValueError):
        return BadReply(f"{doing}: {_words(str(error))}")
    if type(error) is RuntimeError:  # what the library's own storage client fails with
        return Unavailable(f"{doing}: the transfer failed ({_words(str(error))}); run again later")
    raise error


def _broken_off(error: httpx2.HTTPError, doing: str) -> Unavailable:
    import httpx2

    if not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return Unavailable(f"{doing}: the Hub gave no complete answer; run again later")
    try:
        host = error.request.url.host
    except RuntimeError:  # it was raised without its request
        host = "the Hub"
    return Unavailable(f"{doing}: cannot connect to {host}; check the network, then run again")


def _refusal(error: Any, doing: str) -> PlatformError:
    from huggingface_hub import errors as hub

    status = error.response.status_code if error.response is not None else None
    said = _words(str(getattr(error, "server_message", None) or ""))
    if isinstance(error, hub.GatedRepoError):
        kind: type[PlatformError] = Refused
        why = "access to it is restricted; ask for it on its page on the Hub, then run again"
    elif isinstance(error, hub.RevisionNotFoundError):
        kind, why = NotFound, "there is no such revision; name a branch, tag or commit it has"
    elif isinstance(error, hub.RemoteEntryNotFoundError):
        kind, why = NotFound, "there is no such file"
    elif isinstance(error, hub.RepositoryNotFoundError):
        kind = NotFound
        why = "there is no such repository, or it is private and the token has no access to it"
    elif isinstance(error, hub.DisabledRepoError):
        kind, why = Refused, "the Hub has disabled this repository"
    else:
        kind, why = _by_status(status)
        why = f"{why} ({said})" if said and kind not in {RateLimited, NotAuthenticated} else why
    retryable = status in {408, 425, 429} or (status or 0) >= 500
    return kind(f"{doing}: {why}", status=status, detail=said or None, retryable=retryable)


def _by_status(status: int | None) -> tuple[type[PlatformError], str]:
    if status == 401:
        return NotAuthenticated, (
            "the Hub does not accept the token; connect another one with "
            "`whileai-pipelines hf connect`"
        )
    if status == 403:
        return Refused, "the token has no right to do this; give it write access"
    if status in {409, 412}:
        return Conflict, "the repository has changed meanwhile"
    if status == 429:
        return RateLimited, "the Hub takes no more requests for a while; run again later"
    if status is None or status >= 500 or status in {408, 425}:
        return Unavailable, f"the Hub has trouble of its own ({status}); run again later"
    return Refused, f"the Hub refused ({status})"


def _words(text: str) -> str:
    """Return the first line of somebody else's words, cut and without anything secret."""
    line = " ".join(text.split())
    return _SECRETS.sub("…", line)[:_MAX_WORDS]


def _retry_after(error: BaseException) -> float | None:
    response = getattr(error, "response", None)
    if response is None:
        return None
    said = response.headers.get("Retry-After", "")
    used_up = _USED_UP.search(response.headers.get("RateLimit", ""))
    if said.isdecimal():
        return float(said)
    return float(used_up[1]) if used_up else None
