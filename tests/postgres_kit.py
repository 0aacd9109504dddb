"""A private PostgreSQL for the tests, from the programs that lie on the machine."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_PROGRAMS = "/usr/lib/postgresql/*/bin/initdb"  # where Debian puts them, off the PATH
# Nothing here has to survive a crash of the machine.
_QUICK = "-F -c full_page_writes=off -c synchronous_commit=off"


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest if there are several."""
    on_path = shutil.which("initdb")
    if on_path:
        return Path(on_path).parent
    found = sorted(Path("/").glob(_PROGRAMS.lstrip("/")), key=lambda path: float(path.parts[4]))
    return found[-1].parent if found else None


class Cluster:
    """A running server."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        """Make an empty database and return its URL."""
        import asyncpg

        name = f"gate_{next(self._numbers)}"

        async def create() -> None:
            connection = await asyncpg.connect(self._url("postgres"))
            try:
                await connection.execute(f"CREATE DATABASE {name}")
            finally:
                await connection.close()

        asyncio.run(create())
        return self._url(name)

    def _url(self, database: str) -> str:
        return f"postgresql://gate@127.0.0.1:{self._port}/{database}"


@contextlib.contextmanager
def running_cluster(programs: Path) -> Iterator[Cluster]:
    """Start a server in a folder of its own; stop it and remove the folder at the end."""
    folder = Path(tempfile.mkdtemp(prefix="gate-postgres-"))
    user = _unprivileged()
    try:
        if user is not None:
            os.chown(folder, user, user)
        data = str(folder / "data")
        port = _free_port()
        options = f"{_QUICK} -p {port} -c listen_addresses=127.0.0.1 -k ''"
        _run(user, programs / "initdb", "-D", data, "-U", "gate", "-A", "trust", "-N", "-E", "UTF8")
        log = str(folder / "log")
        _run(user, programs / "pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start")
        try:
            yield Cluster(port)
        finally:
            _run(user, programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(user: int | None, *command: object) -> None:
    words = [str(word) for word in command]
    # A file, not a pipe: the server inherits it and would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(
            words, user=user, group=user, cwd="/", stdout=output, stderr=output, check=False
        )
        if done.returncode:
            output.seek(0)
            raise RuntimeError(f"{words[0]} failed: {output.read().decode(errors='replace')}")


def _unprivileged() -> int | None:
    """Return whom to become, since PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name).pw_uid
    return None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
