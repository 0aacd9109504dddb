"""httpx transport that calls an ASGI application in process, without holding bodies in memory."""

from __future__ import annotations

import logging
import tempfile
from typing import IO, TYPE_CHECKING, Any

import anyio
import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping

    Message = MutableMapping[str, Any]
    App = Callable[
        [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
        Awaitable[None],
    ]

log = logging.getLogger(__name__)

_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18


class _SpooledBody(httpx.AsyncByteStream):
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while chunk := self._file.read(_CHUNK):
            yield chunk

    async def aclose(self) -> None:
        self._file.close()


class SpooledASGITransport(httpx.AsyncBaseTransport):
    """Run the application to its end for each request; large answers wait in a temporary file.

    Running in the caller's own task keeps cancellation and errors where they belong. The request
    body is handed over chunk by chunk.
    """

    def __init__(self, app: App) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request from the application."""
        exchange = _Exchange(request)
        try:
            await self._app(exchange.scope, exchange.receive, exchange.send)
            if exchange.status is None:
                raise RuntimeError("no answer was sent")
        except Exception as error:
            exchange.body.close()
            log.exception("the application failed on %s", request.method)
            raise httpx.ReadError(
                "the application broke off its answer", request=request
            ) from error
        except BaseException:
            exchange.body.close()
            raise
        exchange.body.seek(0)
        return httpx.Response(
            exchange.status, headers=exchange.headers, stream=_SpooledBody(exchange.body)
        )


class _Exchange:
    """One request and its answer, as the application sees them."""

    def __init__(self, request: httpx.Request) -> None:
        assert isinstance(request.stream, httpx.AsyncByteStream)  # noqa: S101 (async client)
        self.status: int | None = None
        self.headers: list[tuple[bytes, bytes]] = []
        self.body: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._chunks = aiter(request.stream)
        self._received_all = False
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": request.url.raw_path.split(b"?")[0],
            "query_string": request.url.query,
            "server": (request.url.host, request.url.port),
            "client": ("127.0.0.1", 0),
            "root_path": "",
        }

    async def receive(self) -> Message:
        """Give the application the next piece of the request body."""
        if self._received_all:
            await anyio.sleep_forever()  # the client never hangs up while it waits in here
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._received_all = True
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": chunk, "more_body": True}

    async def send(self, message: Message) -> None:
        """Take one message of the answer."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = list(message.get("headers", ()))
        elif message["type"] == "http.response.body":
            self.body.write(message.get("body", b""))
