"""A gate behind a proxy that fails in the ways networks and servers do, as one process.

`gate(…)` starts both; the proxy starts the gate again whenever it dies. Faults are drawn from a
seed: refused before the gate sees the request, or the answer lost after it acted.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
# (what happens, before the gate acts or after)
FAULTS = (
    ("status 503", "before"),
    ("status 429", "before"),
    ("status 500", "before"),
    ("reset", "before"),
    ("status 502", "after"),
    ("reset", "after"),
    ("cut", "after"),
)
_CONTROL = "/-faults"
_HOP = {"connection", "transfer-encoding", "keep-alive"}


@dataclass(frozen=True)
class Gate:
    """A running proxy with its gate.

    Attributes:
        url: Address of the proxy.
        key: A key of an account of the gate.
    """

    url: str
    key: str
    pid_file: Path

    @property
    def pid(self) -> int:
        """Process id of the gate as it runs now."""
        return int(self.pid_file.read_text())

    def set_faults(self, rate: float) -> None:
        """Let that share of the requests fail; 1 is an outage."""
        body = json.dumps({"rate": rate}).encode()
        urllib.request.urlopen(f"{self.url}{_CONTROL}", data=body, timeout=10).close()


@contextmanager
def gate(home: Path, folder: Path, *, seed: int) -> Iterator[Gate]:
    """Run a proxy and a gate on `home` for the block; logs and pids go to `folder`."""
    import asyncio

    from whileai_core.gate.admin import create_key
    from whileai_core.gate.settings import GateSettings
    from whileai_core.settings import Settings

    key = asyncio.run(create_key("soak", settings=GateSettings.from_settings(Settings(home=home))))
    told = folder / "proxy.port"
    with (folder / "gate.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.flaky", str(folder), str(seed)],
            cwd=ROOT,
            env={**os.environ, "WHILEAI_HOME": str(home), "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while not told.exists():
            if process.poll() is not None:
                raise SystemExit(f"the proxy did not start, see {folder / 'gate.log'}")
            time.sleep(0.05)
        yield Gate(f"http://127.0.0.1:{told.read_text()}", key, folder / "gate.pid")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


class _Backend:
    """The gate process, started again when it dies."""

    def __init__(self, folder: Path) -> None:
        self.port = _free_port()
        self._pid_file = folder / "gate.pid"
        self._process = self._start()
        threading.Thread(target=self._tend, daemon=True).start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "whileai_core.cli", "gate", "serve"]
        process = subprocess.Popen([*command, "--port", str(self.port)])
        for _ in range(600):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        self._pid_file.write_text(str(process.pid))
        return process

    def _tend(self) -> None:
        while True:
            self._process.wait()
            time.sleep(0.5)
            self._process = self._start()


class _Proxy(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    backend: _Backend
    rng: random.Random
    rate = 0.0

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == _CONTROL:
            _Proxy.rate = json.loads(body)["rate"]
            self._answer(200, b"{}", [])
            return
        fault = when = ""
        if self.rng.random() < _Proxy.rate:
            fault, when = self.rng.choice(FAULTS) if _Proxy.rate < 1 else ("status 503", "before")
        if when == "before":
            self._fail(fault, b"")
            return
        try:
            status, headers, reply = self._forward(body)
        except (OSError, http.client.HTTPException):
            self._answer(502, b'{"error": "the gate is away"}', [])
            return
        if when == "after":
            self._fail(fault, reply)
        else:
            self._answer(status, reply, headers)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815

    def _forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.backend.port, timeout=60)
        try:
            connection.putrequest(self.command, self.path, skip_host=True)
            for name, value in self.headers.items():
                if name.lower() not in _HOP:
                    connection.putheader(name, value)
            connection.endheaders(body or None)
            reply = connection.getresponse()
            return reply.status, reply.getheaders(), reply.read()
        finally:
            connection.close()

    def _fail(self, fault: str, reply: bytes) -> None:
        if fault.startswith("status"):
            self._answer(int(fault[-3:]), b'{"error": "planted"}', [("Retry-After", "0")])
        elif fault == "cut" and len(reply) > 1:
            self._answer(200, reply[: len(reply) // 2], [], length=len(reply))
            self.close_connection = True
        else:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            self.connection.close()

    def _answer(
        self, status: int, body: bytes, headers: list[tuple[str, str]], length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in {*_HOP, "content-length", "date", "server"}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        pass


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until killed."""
    folder = Path(sys.argv[1])
    _Proxy.backend = _Backend(folder)
    _Proxy.rng = random.Random(int(sys.argv[2]))
    server = _Server(("127.0.0.1", 0), _Proxy)
    partial = folder / "proxy.port.new"
    partial.write_text(str(server.server_port))
    partial.replace(folder / "proxy.port")
    server.serve_forever()


if __name__ == "__main__":
    main()
