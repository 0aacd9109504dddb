"""Around every request: a log record without secrets, counters, and an error body whatever happens.

An Idempotency-Key is echoed, which tells a client that the gate honours it: creations remember
their key, everything else may be repeated as it is.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from sqlalchemy.exc import InterfaceError, OperationalError
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from whileai_core.gate.http import error_response

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from whileai_core.gate.metrics import Metrics

_log = logging.getLogger(__name__)
_RETRY_SECONDS = "2"
_MAX_REQUEST_ID = 100
_ECHOED = frozenset({b"idempotency-key", b"x-request-id"})
_CLIENT_GONE = 499  # for the log; no answer can be sent any more


class RequestLog:
    """ASGI middleware; logs the route's template, since paths can be permissions."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        status = 0
        echo = [field for field in scope["headers"] if field[0] in _ECHOED]

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *echo]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except ClientDisconnect:
            status = status or _CLIENT_GONE
        except Exception as error:
            if status:  # the answer has begun: breaking it off is all that is left
                raise
            await _failure(error)(scope, receive, watched)
        finally:
            seconds = time.perf_counter() - started
            route = getattr(scope.get("route"), "path", "(no route)")
            self._metrics.count(scope["method"], route, status, seconds)
            _record(scope, route, status, seconds)


def _failure(error: Exception) -> Response:
    if isinstance(error, OperationalError | InterfaceError | ConnectionError):
        _log.warning("the database did not answer: %s", getattr(error, "orig", error))
        busy = "the gate's database is busy or away; try again"
        return error_response(503, busy, {"Retry-After": _RETRY_SECONDS})
    _log.error("a request failed", exc_info=error)
    return error_response(500, "the gate failed on this request; its log says why")


def _record(scope: Scope, route: str, status: int, seconds: float) -> None:
    request_id = Headers(scope=scope).get("x-request-id", "")[:_MAX_REQUEST_ID]
    _log.info(
        "%s %s -> %d",
        scope["method"],
        route,
        status,
        extra={
            "http_method": scope["method"],
            "http_route": route,
            "http_status": status,
            "duration_ms": round(seconds * 1000, 1),
            "request_id": request_id if request_id.isprintable() else "",
        },
    )
