"""A temporary Prefect server for one run at a prompt, which never outlives the run.

Prefect starts one by itself where no API is configured, but a run that is killed leaves it
behind, holding the terminal's pipes open. Ours writes to a log file, asks the kernel to be ended
with its parent (Linux), and says what went wrong when it does not come up.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import prefect
from prefect.events.worker import EventsWorker
from prefect.logging.handlers import APILogWorker
from prefect.settings import (
    PREFECT_API_URL,
    PREFECT_SERVER_UI_ENABLED,
    get_current_settings,
    temporary_settings,
)

from flows._shards import check_cluster
from whileai_core.errors import StoreError
from whileai_core.ingest.lock import file_lock
from whileai_core.settings import get_settings

_PATIENCE = 180.0  # seconds; a busy machine with a new database takes a while
_LAST_WORDS = 10  # seconds for logs and events to reach the server
_LINES_SHOWN = 3
# Somebody at the prompt waits for the announcements to be on record.
_SOON = {"PREFECT_SERVER_SERVICES_EVENT_PERSISTER_FLUSH_INTERVAL": "0.2"}

# Runs in the server's process: end when the parent does, and not survive one that is gone already.
_CHILD = """
import ctypes, os, signal, sys
parent = int(sys.argv.pop(1))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != parent:
    sys.exit(1)
import uvicorn
uvicorn.main()
"""


@contextmanager
def prefect_api() -> Iterator[None]:
    """Give the block a Prefect API: the configured one, else a temporary server.

    Raises:
        StoreError: The temporary server does not start; the message has its own last words.
    """
    if PREFECT_API_URL.value():
        yield
        return
    check_cluster(get_settings())
    home = Path(get_current_settings().home)
    log = home / f"server-{os.getpid()}.log"
    # Servers of one home share a database; two that make it at once would be in each other's way.
    with file_lock(home, "server", wait=_PATIENCE):
        process, url = _start(log)
        try:
            _wait(process, url, log)
        except BaseException:
            _stop(process)
            raise
    try:
        # Nobody will look at its pages: it is gone with the run.
        with temporary_settings({PREFECT_API_URL: url, PREFECT_SERVER_UI_ENABLED: False}):
            try:
                yield
            finally:
                # The last logs and events would meet a closed server and be tried for a minute.
                APILogWorker.drain_all(timeout=_LAST_WORDS)
                EventsWorker.drain_all(timeout=_LAST_WORDS)
    finally:
        _stop(process)
        log.unlink(missing_ok=True)


def _start(log: Path) -> tuple[subprocess.Popen[bytes], str]:
    port = _free_port()
    command = [sys.executable, "-c", _CHILD, str(os.getpid())]
    command += ["--app-dir", str(Path(prefect.__file__).parents[1])]
    command += ["--factory", "prefect.server.api.server:create_app"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=_SOON | os.environ,
                process_group=0,  # Ctrl-C is for the run, which still has its end to report
            )
    except OSError as error:
        raise StoreError(
            f"cannot write {log}: {error.strerror}; free space or fix rights"
        ) from error
    return process, f"http://127.0.0.1:{port}/api"


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    with httpx.Client(timeout=5) as client:
        while time.monotonic() < deadline and process.poll() is None:
            with suppress(httpx.HTTPError):
                if client.get(f"{url}/health").is_success:
                    return
            time.sleep(0.1)
    last = log.read_text("utf-8", "replace").strip().splitlines()[-_LINES_SHOWN:]
    free = shutil.disk_usage(log.parent).free // 1_000_000
    said = " ".join(last) or f"it said nothing, exit code {process.poll()}"
    raise StoreError(
        f"the temporary Prefect server did not start: {said} ({free} MB are free at {log.parent}); "
        "free space, or point PREFECT_API_URL at a server of your own"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
