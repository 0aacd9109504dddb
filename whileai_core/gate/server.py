"""The gate as a server of its own."""

from __future__ import annotations

import contextlib
import socket
import sys

import uvicorn

from whileai_core.errors import SettingsError
from whileai_core.gate.app import create_app

GRACE_SECONDS = 30


def serve(host: str, port: int) -> None:
    """Serve the gate of the environment's settings until SIGINT or SIGTERM.

    Requests in flight may finish within `GRACE_SECONDS`. Port 0 picks a free one.

    Raises:
        SettingsError: The address cannot be listened on.
    """
    config = uvicorn.Config(
        create_app(),
        lifespan="on",
        log_config=None,  # logging is set up by whoever starts the process
        access_log=False,  # it would write presigned addresses; the gate logs requests itself
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    with _listen(host, port) as listener:
        server = _AnnouncingServer(config)
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
    if not server.started:
        raise SystemExit(1)


class _AnnouncingServer(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            for listener in sockets or []:
                host, port = listener.getsockname()[:2]
                where = f"[{host}]" if ":" in host else host
                sys.stderr.write(f"gate listens on http://{where}:{port}\n")
            sys.stderr.flush()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"the gate cannot listen on {host} port {port}: {error}; choose another"
        ) from error
