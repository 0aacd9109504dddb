"""The gate as a server of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys

import uvicorn

from whileai_core.errors import SettingsError
from whileai_core.gate.app import create_app
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate

GRACE_SECONDS = 30
_BACKLOG = 2048


def serve(host: str, port: int) -> None:
    """Serve the gate of the environment's settings until SIGINT or SIGTERM.

    Requests in flight may finish within `GRACE_SECONDS`. Port 0 picks a free one.

    Raises:
        SettingsError: The address cannot be listened on.
        StoreError: The folder, database or blob store cannot be used.
    """
    settings = GateSettings.from_settings()
    asyncio.run(_open_once(settings))
    config = uvicorn.Config(
        create_app(settings),
        lifespan="on",
        log_config=None,  # logging is set up by whoever starts the process
        access_log=False,  # it would write presigned addresses; the gate logs requests itself
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with listen(host, port) as listener:
        server = _AnnouncingServer(config)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    if not server.started:
        raise SystemExit(1)


async def _open_once(settings: GateSettings) -> None:
    """Raise what is wrong with the store as an error of ours; the server would only log it."""
    async with open_gate(settings):
        pass


class _AnnouncingServer(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            for listener in sockets or []:
                host, port = listener.getsockname()[:2]
                where = f"[{host}]" if ":" in host else host
                sys.stderr.write(f"gate listens on http://{where}:{port}\n")
            sys.stderr.flush()


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket.

    Raises:
        SettingsError: The address cannot be listened on.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        # asyncio switches Nagle's algorithm off only where the protocol is named; with it on,
        # every answer on a kept-alive connection waits 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        try:
            if os.name == "posix":  # elsewhere the option lets two servers share a port
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port))
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"the gate cannot listen on {host} port {port}: {error}; choose another"
        ) from error
    return listener
