"""What a run has so far, on disk: a killed run goes on where it stopped.

One JSON object per line, appended: first what the run is, then messages a model wrote and rows
that landed. A later line about a row replaces an earlier one. A torn last line is cut off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from whileai_core import jsonio
from whileai_core.errors import InputError, StoreError
from whileai_core.rows import Row

_VERSION = 1

Key = tuple[str, str, int]


def key_of(row: Row) -> Key:
    """Return what tells the rows of a run apart."""
    return row["scenario_id"], row["prompt"], row["rollout_index"]


class Checkpoint:
    """The checkpoint file of a run; a context manager.

    Args:
        path: The file; it is made when it is not there.
        run: What must be the same for the rows to be of the same run.

    Raises:
        InputError: The file is of another run, or no checkpoint.
        StoreError: It cannot be read or written.
    """

    def __init__(self, path: str | Path, run: Mapping[str, Any]) -> None:
        self._path = Path(path)
        self._rows: dict[Key, Row] = {}
        self._messages: dict[str, str | None] = {}
        self._file: BinaryIO | None = None
        self._run = {"checkpoint": _VERSION, "run": dict(run)}

    def __enter__(self) -> Checkpoint:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            data = self._path.read_bytes() if self._path.exists() else b""
            whole = data.rfind(b"\n") + 1
            self._read(data[:whole])
            self._file = self._path.open("r+b" if data else "w+b")
            self._file.truncate(whole)
            self._file.seek(whole)
        except OSError as error:
            raise StoreError(f"cannot use the checkpoint {self._path}: {error}") from error
        if not whole:
            self._append(self._run)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def n_rows(self) -> int:
        """How many rows landed before."""
        return len(self._rows)

    def row(self, key: Key) -> Row | None:
        """Return a row that landed before, None when it did not."""
        return self._rows.get(key)

    def message(self, slot: str) -> str | None:
        """Return the message a model wrote for a slot before."""
        return self._messages.get(slot)

    def add_row(self, row: Row) -> None:
        """Keep a row, in place of the one it is another state of."""
        self._append({"row": row})

    def add_message(self, slot: str, message: str) -> None:
        """Keep a message."""
        self._append({"slot": slot, "message": message})

    def sync(self) -> None:
        """Wait until what was added is on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self._file is None:
            raise StoreError(f"the checkpoint {self._path} is not open")
        try:
            self._file.write(jsonio.dumps_line(entry))
            self._file.flush()
        except OSError as error:
            raise StoreError(f"cannot write the checkpoint {self._path}: {error}") from error

    def _read(self, data: bytes) -> None:
        lines = data.splitlines()
        if lines:
            self._check(lines[0])
        for line in lines[1:]:
            entry = self._parsed(line)
            if isinstance(entry.get("row"), dict):
                self._rows[key_of(entry["row"])] = entry["row"]
            elif "slot" in entry:
                self._messages[entry["slot"]] = entry["message"]

    def _check(self, line: bytes) -> None:
        first = self._parsed(line)
        if first.get("checkpoint") != _VERSION or not isinstance(first.get("run"), dict):
            raise InputError(f"{self._path} is no checkpoint of a simulation; name another file")
        then, now = first["run"], self._run["run"]
        assert isinstance(now, dict)  # noqa: S101  # set in __init__
        changed = [key for key in sorted(now) if now[key] != then.get(key)]
        if changed:
            listed = ", ".join(changed).replace("_", " ")
            raise InputError(
                f"{self._path} keeps rows of an unfinished run with another {listed}; "
                "delete that file to start over, or go on with what the run had"
            )

    def _parsed(self, line: bytes) -> dict[str, Any]:
        try:
            entry = jsonio.loads(line)
        except ValueError as error:
            raise InputError(
                f"{self._path} holds a line that is no JSON ({error}); name another file"
            ) from error
        return entry if isinstance(entry, dict) else {}
