"""Cancellation from outside, told to the application as a client that hung up.

A task that is cancelled in the middle of a transaction or a worker thread's job leaves locks and
files behind that nobody owns. So a request runs in a task of its own that is never cancelled:
when its caller is, it gets no more bytes and cannot answer, and comes to its end by itself.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

T = TypeVar("T")


class HangUp:
    """ASGI middleware; put it around everything else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request to its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        caller = _Caller(receive, send)
        request = asyncio.ensure_future(self._app(scope, caller.receive, caller.send))
        try:
            await asyncio.shield(request)
        except asyncio.CancelledError:
            caller.gone.set()
            with anyio.CancelScope(shield=True):
                await asyncio.wait({request})
            if not request.cancelled():
                request.exception()  # nobody is left to hear of it
            raise


class _Caller:
    """The caller's side of a request, until it is gone."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.gone = asyncio.Event()
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        try:
            return await self._unless_gone(self._receive())
        except _GoneError:
            return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self._unless_gone(self._send(message))

    async def _unless_gone(self, exchange: Awaitable[T]) -> T:
        doing = asyncio.ensure_future(exchange)
        leaving = asyncio.ensure_future(self.gone.wait())
        try:
            await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise _GoneError("the caller is gone")
            return doing.result()
        finally:
            doing.cancel()
            leaving.cancel()


class _GoneError(OSError):  # what Starlette expects of a broken connection
    pass
