"""`gate serve` in a process of its own, on SQLite or on a PostgreSQL of its own, and its memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

_CLI = [sys.executable, "-m", "whileai_core.cli", "gate"]
_ROOT = Path(__file__).parents[1]


class Gate:
    """A served gate."""

    def __init__(self, home: Path, database_url: str | None) -> None:
        self._env = os.environ | {"WHILEAI_HOME": str(home)}
        if database_url is not None:
            self._env["WHILEAI_GATE_DATABASE_URL"] = database_url
        self._process = subprocess.Popen(
            [*_CLI, "serve", "--port", "0"],
            env=self._env,
            cwd=_ROOT,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if line.startswith("gate listens on "):
                self.origin = line.split()[-1]
                break
        else:
            raise SystemExit("the gate did not start")
        self._talk: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if "Traceback" in line or "Error" in line or " -> 5" in line:
                self._talk.append(line.rstrip())

    def complaints(self) -> list[str]:
        """Return what its log has of failures."""
        return list(self._talk)

    def new_key(self, name: str) -> str:
        """Make a key for an account."""
        done = subprocess.run(
            [*_CLI, "key", "create", name],
            env=self._env,
            cwd=_ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[-1]

    def peak_megabytes(self) -> float:
        """Return the most memory the process had at any time."""
        return peak_megabytes(self._process.pid)

    def close(self) -> None:
        """Stop serving."""
        self._process.terminate()
        self._process.wait(60)


def peak_megabytes(pid: int) -> float:
    """Return the peak resident memory of a living process (Linux)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise SystemExit("the system does not tell the peak memory of a process")


@contextlib.contextmanager
def running_gate(database: str) -> Iterator[Gate]:
    """Serve an empty gate on `sqlite` or `postgresql`; remove everything at the end."""
    with contextlib.ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="gate-")))
        url = None
        if database == "postgresql":
            sys.path.insert(0, str(_ROOT / "tests"))
            from postgres_kit import find_programs, running_cluster

            programs = find_programs()
            if programs is None:
                raise SystemExit("PostgreSQL is not installed: apt-get install postgresql")
            url = stack.enter_context(running_cluster(programs)).new_database()
        gate = Gate(home, url)
        stack.callback(gate.close)
        yield gate
