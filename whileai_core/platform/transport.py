"""The one module that talks HTTP: sends, tries again, and turns what goes wrong into our errors.

A transport lives for one operation and is closed with it. Rules it keeps everywhere:

- Redirects are not followed, and nothing of ours (key, ids, user agent) goes to another origin:
  presigned addresses get the headers their signature covers and no more.
- A read, a PUT and a DELETE are repeated after a failure. A POST that creates something is
  repeated only when the server surely did not act on it, or is known to honour its
  idempotency key (it echoes the key; a server not heard of yet is asked with a harmless read).
- One deadline covers all attempts of a request.
"""

from __future__ import annotations

import logging
import uuid
from typing import IO, TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote, urlencode

import anyio
import httpx

from whileai_core import jsonio
from whileai_core.errors import BadReply, InputError, NotFound, PlatformError, Unavailable
from whileai_core.platform import _retry
from whileai_core.platform._call import REQUEST_SECONDS, Call, Deadline
from whileai_core.platform._failures import Failed, connection_error, status_error
from whileai_core.platform._observe import observed, route_of
from whileai_core.platform._redact import Redactor
from whileai_core.platform._target import is_safe, origin_of
from whileai_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

    from whileai_core.platform._wire import Reply
    from whileai_core.platform.credentials import Credential

T = TypeVar("T")

_ERROR_BODY_LIMIT = 64 << 10
_REPLY_LIMIT = 256 << 20

_HOPELESS = (httpx.UnsupportedProtocol, httpx.LocalProtocolError, httpx.InvalidURL)

log = logging.getLogger(__name__)


class Transport:
    """Requests to one platform with one credential.

    Attributes:
        base_url: Address of the platform, without a final slash.
        embedded: Whether it is the gate inside this process.
        has_credential: Whether calls that need a key can be made.
        honours_keys: Whether the server was seen to echo an idempotency key.
    """

    def __init__(
        self,
        client: httpx.AsyncClient,
        base_url: str,
        *,
        credential: Credential | None,
        embedded: bool = False,
        allow_insecure: bool = False,
        secrets: tuple[str, ...] = (),
    ) -> None:
        self.base_url = base_url
        self.embedded = embedded
        self.has_credential = credential is not None
        self.honours_keys = False
        self._client = client
        self._credential = credential
        self._allow_insecure = allow_insecure
        self._redactor = Redactor(secrets)

    # -- the platform's own routes

    async def get(
        self, *path: str, query: Mapping[str, str] | None = None, public: bool = False
    ) -> Reply:
        """Read one object."""
        headers = await self._headers(with_key=not public)
        url = self._url(path, query)
        return await self._json(Call(method="GET", url=url, route=route_of(path), headers=headers))

    async def delete(self, *path: str, missing_ok: bool = False) -> Reply:
        """Delete one thing; "not found" in answer to a repeat means the first try worked.

        With `missing_ok` it is fine from the start.
        """
        call = Call(
            method="DELETE",
            url=self._url(path),
            route=route_of(path),
            headers=await self._headers(),
            done_when_repeated=frozenset({404, 410}),
        )
        try:
            return await self._json(call)
        except NotFound:
            if not missing_ok:
                raise
            return {}

    async def post(
        self,
        *path: str,
        body: Mapping[str, Any] | None = None,
        replayable: bool,
        idempotency_key: str | None = None,
        probe: bool = False,
        bearer: str | None = None,
        seconds: float = REQUEST_SECONDS,
        tries: int = _retry.TRIES,
    ) -> Reply:
        """Send one object; with `bearer`, as a session and without the key."""
        headers = await self._headers(with_key=not bearer)
        if bearer:
            headers["Authorization"] = f"Bearer {bearer}"
        if idempotency_key:
            headers["Idempotency-Key"] = idempotency_key
        content = b""
        if body is not None:
            content = jsonio.dumps(body)
            headers["Content-Type"] = "application/json"
        headers["Content-Length"] = str(len(content))
        call = Call(
            method="POST",
            url=self._url(path),
            route=route_of(path),
            headers=headers,
            content=lambda: content,
            replayable=replayable,
            idempotency_key=idempotency_key,
            probe=probe,
            tries=tries,
        )
        return await self._json(call, seconds=seconds)

    # -- presigned addresses

    async def upload(
        self,
        url: str,
        chunks: Callable[[], AsyncIterator[bytes]],
        *,
        size: int,
        seconds: float,
        media: str = "application/jsonl",
    ) -> None:
        """Send bytes of known length; every attempt reads them from the start."""
        call = Call(
            method="PUT",
            url=self._presigned(url),
            headers={"Content-Type": media, "Content-Length": str(size)},
            content=chunks,
            presigned=True,
        )
        await self._send(call, _read_nothing, seconds=seconds)

    async def download(self, url: str, file: IO[bytes]) -> int:
        """Fetch bytes into a file opened for this; every attempt starts it anew."""

        async def into_file(response: httpx.Response, deadline: Deadline) -> int:
            file.seek(0)
            file.truncate()
            received = 0
            async for chunk in response.aiter_bytes():
                file.write(chunk)
                received += len(chunk)
                deadline.allow_for(len(chunk))
            return received

        call = Call(method="GET", url=self._presigned(url), presigned=True)
        return await self._send(call, into_file, seconds=REQUEST_SECONDS)

    # -- building requests

    def _url(self, path: tuple[str, ...], query: Mapping[str, str] | None = None) -> str:
        url = "/".join((self.base_url, *(_segment(part) for part in path)))
        return f"{url}?{urlencode(query)}" if query else url

    async def _headers(self, *, with_key: bool = True) -> dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"whileai-pipelines/{__version__}"}
        if with_key and self._credential is not None:
            key = await self._credential.current()
            self._redactor.add(key)
            headers["X-Api-Key"] = key
        return headers

    def _presigned(self, url: str) -> str:
        try:
            scheme, host, _ = origin = origin_of(url)
        except ValueError:
            scheme, host, origin = "", None, None
        if scheme not in {"http", "https"} or not host:
            raise BadReply("the platform gave a transfer address that is not an absolute URL")
        same = origin == origin_of(self.base_url)
        if self.embedded and not same:
            raise BadReply("the embedded gate gave a transfer address outside itself")
        if not same and not is_safe(url, allow_insecure=self._allow_insecure):
            raise BadReply(
                f"the platform gave a plain http transfer address at {host}; set "
                "WHILEAI_ALLOW_INSECURE=1 if that is meant"
            )
        return url

    # -- sending

    async def _json(self, call: Call, *, seconds: float = REQUEST_SECONDS) -> Reply:
        async def read(response: httpx.Response, _: Deadline) -> Reply:
            body = await _read_limited(response, _REPLY_LIMIT)
            return self._parse(call, response, body)

        return await self._send(call, read, seconds=seconds, when_repeated=dict)

    def _parse(self, call: Call, response: httpx.Response, body: bytes) -> Reply:
        if not body.strip() and call.method != "GET":
            return {}
        try:
            reply = jsonio.loads(body)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):
            kind = response.headers.get("content-type", "no content type")
            raise BadReply(
                f"{call.method} {call.shown} -> {response.status_code}: the answer is not a JSON "
                f"object ({len(body)} bytes, {kind}); a proxy or another service may stand there, "
                "check WHILEAI_API_URL",
                status=response.status_code,
                method=call.method,
                url=call.shown,
            )
        return reply

    async def _send(
        self,
        call: Call,
        read: Callable[[httpx.Response, Deadline], Awaitable[T]],
        *,
        seconds: float,
        when_repeated: Callable[[], T] | None = None,
    ) -> T:
        deadline = Deadline(seconds)
        last: PlatformError | None = None
        with deadline.scope:
            for attempt in range(1, call.tries + 1):
                try:
                    return await self._attempt(call, read, deadline, attempt)
                except Failed as failed:
                    last = failed.error
                    if attempt > 1 and last.status in call.done_when_repeated and when_repeated:
                        return when_repeated()
                    if not await self._may_repeat(call, failed):
                        raise _with_doubt(call, failed) from None
                    if attempt == call.tries:
                        raise last from None
                    wait = failed.wait or _retry.backoff(attempt)
                    if wait >= deadline.remaining:
                        raise last from None
                log.info("%s %s failed; trying again in %.1f s", call.method, call.shown, wait)
                await anyio.sleep(wait)
        raise _out_of_time(call, deadline, last) from None

    async def _may_repeat(self, call: Call, failed: Failed) -> bool:
        if not failed.error.retryable:
            return False
        if failed.untouched or call.replayable:
            return True
        if call.idempotency_key is None:
            return False
        if not self.honours_keys and call.probe:
            await self._ask_about_keys(call.idempotency_key)
        return self.honours_keys

    async def _ask_about_keys(self, key: str) -> None:
        headers = await self._headers() | {"Idempotency-Key": key}
        call = Call(
            method="GET",
            url=self._url(("datasets",)),
            route="/datasets",
            headers=headers,
            idempotency_key=key,
        )
        try:
            await self._attempt(call, _read_nothing, Deadline(REQUEST_SECONDS), 1)
        except Failed:
            log.debug("could not ask the server about idempotency keys")

    async def _attempt(
        self,
        call: Call,
        read: Callable[[httpx.Response, Deadline], Awaitable[T]],
        deadline: Deadline,
        number: int,
    ) -> T:
        request_id = uuid.uuid4().hex
        headers = dict(call.headers)
        if not call.presigned:
            headers["X-Request-Id"] = request_id
        response: httpx.Response | None = None
        with observed(call, number, request_id) as attempt:
            try:
                content = call.content()
                request = httpx.Request(call.method, call.url, headers=headers, content=content)
                response = await self._client.send(request, stream=True)
                attempt.status = response.status_code
                self._note_echo(call, response)
                if not response.is_success:
                    raise await self._failed_status(call, response, request_id)
                result = await read(response, deadline)
                attempt.failed = False
                return result
            except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
                raise self._failed_connection(call, error, request_id) from None
            finally:
                if response is not None:
                    attempt.bytes_received = response.num_bytes_downloaded
                    with anyio.CancelScope(shield=True):
                        await response.aclose()

    def _note_echo(self, call: Call, response: httpx.Response) -> None:
        key = call.idempotency_key
        if key is not None and response.headers.get("idempotency-key") == key:
            self.honours_keys = True

    async def _failed_status(self, call: Call, response: httpx.Response, request_id: str) -> Failed:
        try:
            body = await _read_limited(response, _ERROR_BODY_LIMIT, cut=True)
        except httpx.HTTPError:
            body = b""
        status = response.status_code
        error = status_error(
            status,
            self._redactor.words(body),
            method=call.method,
            url=call.shown,
            request_id=request_id,
        )
        return Failed(
            error,
            untouched=status in _retry.UNTOUCHED_STATUSES,
            wait=_retry.retry_after(response.headers),
        )

    def _failed_connection(self, call: Call, error: Exception, request_id: str) -> Failed:
        reason = self._redactor.clean(str(error)) or type(error).__name__
        failure = connection_error(
            reason, method=call.method, url=call.shown, request_id=request_id
        )
        # What never got a connection never left; other faults may hide a request that worked.
        untouched = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout)
        if isinstance(error, _HOPELESS) or "CERTIFICATE_VERIFY_FAILED" in reason:
            failure.retryable = False
        return Failed(failure, untouched=untouched)


def _segment(text: str) -> str:
    """Escape one path segment; it can neither leave its place nor add a query."""
    if not isinstance(text, str) or not text.strip() or text in {".", ".."}:
        raise InputError(f"{text!r} cannot name anything on the platform; pass an id or a name")
    try:
        return quote(text, safe="")
    except UnicodeEncodeError:
        raise InputError(f"{text!r} holds a lone surrogate and cannot name anything") from None


async def _read_nothing(response: httpx.Response, _: Deadline) -> None:
    async for _chunk in response.aiter_raw():
        pass


async def _read_limited(response: httpx.Response, limit: int, *, cut: bool = False) -> bytes:
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > limit:
            if cut:
                break
            raise BadReply(f"the answer is longer than {limit} bytes; nothing was read from it")
    return bytes(body[:limit])


def _with_doubt(call: Call, failed: Failed) -> PlatformError:
    """Say so when a request that is not repeated may have been carried out all the same."""
    error = failed.error
    if error.retryable and not call.replayable and not failed.untouched:
        error.args = (f"{error}; the platform may have carried it out all the same",)
    return error


def _out_of_time(call: Call, deadline: Deadline, last: PlatformError | None) -> Unavailable:
    before = f"; the attempt before: {last}" if last is not None else ""
    return Unavailable(
        f"{call.method} {call.shown} was not done after {deadline.elapsed:.1f} s (time allowed: "
        f"{deadline.seconds:.0f} s){before}; a slow network needs a longer timeout",
        method=call.method,
        url=call.shown,
    )
