"""A refusal that reaches a client which is still sending.

A server that answers and closes while bytes are under way makes the client's system throw the
answer away: instead of the reason it sees a broken connection, and tries again. So what is left
of a refused body is read and dropped first, within bounds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_BYTES = 256 * 1024 * 1024
_MOST_SECONDS = 20.0


class DropUnread:
    """ASGI middleware; reads the rest of a body before an error is sent."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(scope, receive)

        async def after_the_body(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                await body.drop()
            await send(message)

        await self._app(scope, body.receive, after_the_body)


class _Body:
    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        # Who asks before sending has not sent anything yet, and will not after a refusal.
        self._asks_first = "expect" in headers
        sends = "transfer-encoding" in headers or headers.get("content-length", "0") != "0"
        self._ended = not sends
        self._receive = receive

    async def receive(self) -> Message:
        message = await self._receive()
        self._asks_first = False
        self._ended = not message.get("more_body", False)
        return message

    async def drop(self) -> None:
        if self._asks_first:
            return
        dropped = 0
        with anyio.move_on_after(_MOST_SECONDS):
            while not self._ended and dropped < _MOST_BYTES:
                dropped += len((await self.receive()).get("body", b""))
