"""What every route shares: who asks, the request's JSON, absolute addresses, error bodies."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response

from whileai_core import jsonio
from whileai_core.gate.accounts import KEYS, find_account
from whileai_core.gate.permits import digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from starlette.requests import Request

    from whileai_core.gate.state import Gate

Json: TypeAlias = dict[str, Any]

_MAX_IDEMPOTENCY_KEY = 255
MAX_ERROR = 380  # the peer SDK cuts an error body at 400 characters before it parses it


class JsonResponse(Response):
    """A JSON object as response."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Write the object as compact JSON."""
        return jsonio.dumps(content)


def error_response(status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return `{"error": message}`, kept to one short line."""
    line = " ".join(message.split())
    if len(line) > MAX_ERROR:
        line = line[: MAX_ERROR - 1] + "…"
    return JsonResponse({"error": line}, status_code=status, headers=headers)


def gate_of(request: Request) -> Gate:
    """Return the gate a request came to."""
    return cast("Gate", request.app.state.gate)


def keyed(
    endpoint: Callable[[Request, str], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Let in only requests with a good key; the endpoint gets the account's id."""

    @functools.wraps(endpoint)
    async def guarded(request: Request) -> Response:
        key = key_of(request)
        if not key:
            raise unauthorized(request, "no credential: send an account key in X-Api-Key")
        account = await identify(request, key, KEYS)
        if account is None:
            raise unauthorized(request, "the credential is unknown, revoked or expired")
        return await endpoint(request, account)

    return guarded


def key_of(request: Request) -> str:
    """Return the key a request was sent with; empty when there is none."""
    return request.headers.get("x-api-key", "").strip()


async def identify(request: Request, key: str, kinds: Collection[str]) -> str | None:
    """Return the account a good credential of these kinds stands for, else None.

    Raises:
        HTTPException: 429 when the credential is used too often.
    """
    gate = gate_of(request)
    async with gate.database.read() as session:
        account = await find_account(session, key, kinds)
    if account is not None:
        _slow_down(gate.requests.wait(digest(key)), "this key sends too many requests")
    return account


def unauthorized(request: Request, reason: str) -> HTTPException:
    """Return the answer to a request without a good credential.

    Raises:
        HTTPException: 429 when the address sends too many of these. A good credential is never
            refused for what others at its address do.
    """
    address = request.client.host if request.client else ""
    _slow_down(gate_of(request).failures.wait(address), "too many requests without a credential")
    return HTTPException(401, reason)


def _slow_down(seconds: int, reason: str) -> None:
    if seconds:
        wait = {"Retry-After": str(seconds)}
        raise HTTPException(429, f"{reason}; try again in {seconds} s", wait)


async def read_body(request: Request, limit: int) -> bytes:
    """Read a whole body.

    Raises:
        HTTPException: 413 when it is longer than `limit`.
    """
    check_declared_length(request, limit)
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise too_large(limit)
    return bytes(body)


async def read_json(request: Request, limit: int | None = None) -> Json:
    """Read the JSON object of a request; no body at all counts as an empty object.

    Raises:
        HTTPException: 400 when it is something else, 413 when it is longer than `limit`
            (default: the gate's limit for JSON).
    """
    body = await read_body(request, limit or gate_of(request).settings.max_json_bytes)
    if not body.strip():
        return {}
    try:
        value = jsonio.loads(body)
    except ValueError:
        raise HTTPException(400, "the request body is not JSON") from None
    if not isinstance(value, dict):
        raise HTTPException(400, "the request body is not a JSON object")
    return value


def idempotency_key(request: Request) -> str | None:
    """Return the Idempotency-Key of a request.

    Raises:
        HTTPException: 400 when it is too long or not plain ASCII.
    """
    key = request.headers.get("idempotency-key", "").strip()
    if len(key) > _MAX_IDEMPOTENCY_KEY or not key.isascii() or (key and not key.isprintable()):
        raise HTTPException(
            400, f"Idempotency-Key must be at most {_MAX_IDEMPOTENCY_KEY} ASCII characters"
        )
    return key or None


def check_declared_length(request: Request, limit: int) -> None:
    """Refuse a body that says it is too long before reading it."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > limit:
        raise too_large(limit)


def too_large(limit: int) -> HTTPException:
    """Return the answer to a body that is too long."""
    return HTTPException(413, f"the request body is larger than the limit of {limit} bytes")


def absolute(request: Request, path: str) -> str:
    """Return an absolute address of this gate, from the settings or the Host header."""
    origin = gate_of(request).settings.origin or str(request.base_url)
    return origin.rstrip("/") + path
