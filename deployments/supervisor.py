"""Keeps a few programs running: starts them in order, restarts what dies, ends them in order.

The supervisor waits in one loop and starts no threads. Each program has a log file; the
supervisor's own lines go to stderr. On Linux a program is told to end when the supervisor is
killed, so that nothing is left holding a port.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import httpx

from whileai_core.errors import StoreError

_TURN = 0.3  # seconds between two looks at the programs
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0  # seconds before a dead program is started again
_STEADY = 60.0  # seconds after which a program that dies is taken for a healthy one
_HOPELESS = 5  # times a program may end by itself before it has once been well
_LOG_LIMIT = 10_000_000  # bytes after which a log is put aside when its program starts
_LINES_SHOWN = 4

# Runs first in a program's process: end with the supervisor, also when it is gone already.
_TIED = """
import ctypes, os, sys
parent = int(sys.argv.pop(1))
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 15)
if os.getppid() != parent:
    sys.exit(1)
os.execv(sys.argv[1], sys.argv[1:])
"""


@dataclass
class Program:
    """One program to keep running.

    Attributes:
        name: What people call it; also names its log.
        command: What to run.
        log: File for its output.
        health: URL that answers once the program is ready; unset means it is ready at once.
        patience: Seconds it may take to become ready.
        grace: Seconds it may take to end.
    """

    name: str
    command: Sequence[str]
    log: Path
    health: str | None = None
    patience: float = 120.0
    grace: float = 20.0
    before: Sequence[str] = ()
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)
    _started: float = field(default=0.0, init=False)
    _pause: float = field(default=_FIRST_PAUSE, init=False)
    _due: float | None = field(default=None, init=False)
    _well: bool = field(default=False, init=False)
    _ends: int = field(default=0, init=False)

    def start(self, environment: Mapping[str, str]) -> None:
        """Start it.

        Raises:
            StoreError: Its log cannot be written.
        """
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            if self.log.exists() and self.log.stat().st_size > _LOG_LIMIT:
                self.log.replace(self.log.with_suffix(".old.log"))
            with self.log.open("ab") as output:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _TIED, str(os.getpid()), *self.command],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # Ctrl-C is for the supervisor, which ends in order
                    env=dict(environment),
                )
        except OSError as error:
            raise StoreError(f"cannot write {self.log}: {error.strerror}") from error
        self._started, self._due = time.monotonic(), None

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return None if self._process is None else self._process.poll()

    @property
    def gave_up(self) -> bool:
        """Whether it has ended by itself; one that was killed may well run the next time."""
        return self.exit_code is not None and self.exit_code >= 0

    def is_ready(self) -> bool:
        """Whether it answers."""
        if self.health is None:
            return True
        try:
            self._well = httpx.get(self.health, timeout=5).is_success
        except httpx.HTTPError:
            self._well = False
        return self._well

    def tend(self, environment: Mapping[str, str]) -> None:
        """Start it again when it has died, after a pause that grows while it keeps dying.

        Raises:
            StoreError: It has never been well and keeps ending; the message has its last words.
        """
        if self.exit_code is None:
            return
        now = time.monotonic()
        if self._due is None:
            if now - self._started > _STEADY:
                self._pause, self._well = _FIRST_PAUSE, True
            self._ends += self.gave_up
            if self._ends >= _HOPELESS and not self._well:
                raise self.failure(f"ended {self._ends} times at the start")
            self._due = now + self._pause
            say(f"{self.name} ended with code {self.exit_code}; again in {self._pause:g} s")
            self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        elif now >= self._due:
            if self.before:
                _run_for_a_while(self.before, environment)
            self.start(environment)

    def stop(self) -> None:
        """Ask it to end, and make it end when it does not."""
        if self._process is None:
            return
        if self.exit_code is None:
            self._process.terminate()
            try:
                self._process.wait(self.grace)
            except subprocess.TimeoutExpired:
                say(f"{self.name} does not end; it is killed")
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with whatever it has started
        self._process.wait()

    def failure(self, what: str) -> StoreError:
        """Make the error that says what it did, with the end of its log."""
        lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        words = " ".join(line.strip() for line in lines[-_LINES_SHOWN:]) or "it said nothing"
        return StoreError(f"{self.name} {what}: {words} (log: {self.log})")


class Supervisor:
    """Runs programs until it is told to stop. To be used as a context manager.

    Args:
        environment: What the programs see.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._programs: list[Program] = []
        self._told_to_stop = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """End everything at the end of the block, the last started first."""
        earlier = {
            number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for program in reversed(self._programs):
                program.stop()
            for number, handler in earlier.items():
                signal.signal(number, handler)

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self._told_to_stop = True

    def start(self, program: Program) -> None:
        """Start a program and wait until it is ready.

        Raises:
            StoreError: It ends at once or does not become ready; the message has its last words.
            KeyboardInterrupt: The supervisor was told to stop meanwhile.
        """
        self._programs.append(program)
        program.start(self._environment)
        deadline = time.monotonic() + program.patience
        while not program.is_ready():
            if program.exit_code is not None or time.monotonic() > deadline:
                raise program.failure("did not start")
            self._wait()

    def run(self, command: Sequence[str], what: str) -> None:
        """Run a command that ends by itself.

        Raises:
            StoreError: It failed; the message has what it said.
            KeyboardInterrupt: The supervisor was told to stop meanwhile.
        """
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=dict(self._environment),
            text=True,
        )
        with process:
            try:
                while process.poll() is None:
                    self._wait()
            finally:
                process.kill()
            said = process.stderr.read() if process.stderr else ""
        if process.returncode:
            lines = said.strip().splitlines() or [f"exit code {process.returncode}"]
            raise StoreError(f"{what} failed: {lines[-1]}")

    def check(self) -> None:
        """See that what was started is still there.

        Raises:
            StoreError: A program has ended by itself; the message has its last words.
        """
        for program in self._programs:
            if program.gave_up:
                raise program.failure("did not stay up")

    def watch(self) -> None:
        """Restart what dies until SIGINT or SIGTERM.

        Raises:
            StoreError: A program that has never been well keeps ending.
        """
        while not self._told_to_stop:
            time.sleep(_TURN)
            for program in self._programs:
                program.tend(self._environment)

    def _wait(self) -> None:
        time.sleep(_TURN)
        if self._told_to_stop:
            raise KeyboardInterrupt


def _run_for_a_while(command: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run what helps a restart and must not keep it up."""
    with suppress(subprocess.TimeoutExpired):
        subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environment),
            timeout=30,
            check=False,
        )


def say(line: str) -> None:
    """Tell the person at the terminal."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
