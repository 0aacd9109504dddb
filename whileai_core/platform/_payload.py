"""The bytes of a dataset, written once to a temporary file and sent from there.

Content is hashed while it is written, so that memory stays at one chunk whatever the size. The
files have no name: nothing is left behind when the process dies.
"""

from __future__ import annotations

import codecs
import hashlib
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from anyio import to_thread

from whileai_core import jsonio
from whileai_core.errors import InputError, SchemaInvalid, SourceNotFound, UnreadableSource
from whileai_core.quality.sides import bucket, split_key
from whileai_core.quality.tasks import Tally
from whileai_core.rows import LONGEST_LINE_BYTES, ROWS_NAMED_IN_AN_ERROR, schema_findings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator
    from pathlib import Path
    from types import TracebackType

    from whileai_core.rows import Row

_IN_MEMORY = 4 << 20
_CHUNK = 1 << 18


@dataclass(slots=True)
class Payload:
    """Bytes ready to be sent, any number of times.

    Attributes:
        rows: Number of rows where it is known.
    """

    file: IO[bytes]
    size: int
    sha256: str
    rows: int | None = None

    async def chunks(self) -> AsyncIterator[bytes]:
        """Read the bytes from the start; they must still be the ones that were hashed."""
        digest, sent = hashlib.sha256(), 0
        self.file.seek(0)
        while chunk := await to_thread.run_sync(self.file.read, _CHUNK):
            digest.update(chunk)
            sent += len(chunk)
            if sent >= self.size and (sent, digest.hexdigest()) != (self.size, self.sha256):
                break
            yield chunk
        if (sent, digest.hexdigest()) != (self.size, self.sha256):
            raise InputError("the file changed while it was being pushed; push it again")

    def __enter__(self) -> Payload:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()


class _Side:
    """Rows of one side on their way into its file."""

    def __init__(self) -> None:
        self.file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self.tasks = Tally()
        self.rows = 0
        self._digest = hashlib.sha256()
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self._size = 0

    def add(self, line: bytes) -> None:
        self.rows += 1
        self._waiting.append(line)
        self._waiting_bytes += len(line)
        if self._waiting_bytes >= _CHUNK:
            self._flush()

    def _flush(self) -> None:
        chunk = b"".join(self._waiting)
        self._digest.update(chunk)
        self.file.write(chunk)
        self._size += len(chunk)
        self._waiting.clear()
        self._waiting_bytes = 0

    def payload(self) -> Payload:
        self._flush()
        return Payload(self.file, self._size, self._digest.hexdigest(), self.rows)


class SplitRows:
    """Rows as two payloads: what is trained on, and what is held out (if anything is)."""

    def __init__(self) -> None:
        self.main = _Side()
        self.held = _Side()

    def close(self) -> None:
        """Give the disk space back."""
        self.main.file.close()
        self.held.file.close()


def spool_rows(
    rows: Iterable[Row], *, fraction: float | None, count_tasks: bool, lossy: bool, where: str
) -> SplitRows:
    """Write rows as strict JSON Lines, checked, each to its side; order is kept.

    Args:
        rows: Any iterable; it is read once.
        fraction: Share of tasks to hold out, or None.
        count_tasks: Whether to count the tasks of the main side as well.
        lossy: Whether values JSON cannot carry are written as text.
        where: The operation, for messages.

    Raises:
        SchemaInvalid: Rows break the row schema.
        InputError: A row holds what JSON cannot carry or is too long for a line, or all rows would
            be held out.
    """
    split = SplitRows()
    try:
        readable = _as_text(rows, where) if lossy else rows
        _fill(split, readable, fraction, count_tasks, where)
        if fraction is not None and not split.main.rows:
            raise InputError(
                f"{where}: holdout={fraction} leaves no training rows; push more tasks or hold "
                "out fewer"
            )
    except BaseException:
        split.close()
        raise
    return split


def _fill(
    split: SplitRows, rows: Iterable[Row], fraction: float | None, count_tasks: bool, where: str
) -> None:
    bad: list[str] = []
    for index, row in enumerate(rows):
        if findings := schema_findings(row):
            bad.append(f"{index}:{','.join(findings)}")
            if len(bad) == ROWS_NAMED_IN_AN_ERROR:
                break
        if bad:
            continue
        line = _line(row, index, where)
        key = split_key(row) if fraction is not None or count_tasks else ""
        held = fraction is not None and bucket(key) < fraction
        side = split.held if held else split.main
        side.add(line)
        if held or count_tasks:
            side.tasks.add(row)
    if bad:
        raise SchemaInvalid(f"schema_invalid in {where}: {'; '.join(bad)}")


def _as_text(rows: Iterable[Row], where: str) -> Iterator[Row]:
    for index, row in enumerate(rows):
        try:
            yield jsonio.textual(row)
        except ValueError as error:
            raise InputError(f"{where}: row {index}: {error}; nothing was sent") from None


def _line(row: Row, index: int, where: str) -> bytes:
    try:
        line = jsonio.dumps_line(row)
    except ValueError as error:
        raise InputError(f"{where}: row {index}: {error}; nothing was sent") from None
    if len(line) > LONGEST_LINE_BYTES:
        raise InputError(
            f"{where}: row {index} is {len(line)} bytes long, and a line of a dataset may have "
            f"{LONGEST_LINE_BYTES}; leave it out or shorten its texts; nothing was sent"
        )
    return line


def file_payload(path: Path, *, is_jsonl: bool = False) -> Payload:
    """Return the bytes of a file as they are.

    Args:
        path: The file.
        is_jsonl: Refuse it where a line is longer than a dataset takes.

    Raises:
        InputError: Such a line; the message names it.
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read, or not twice (a pipe).
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        raise SourceNotFound(f"push_file: no such file: {path}") from None
    except OSError as error:
        raise _unreadable(path, error) from None
    try:
        if is_jsonl:
            digest = _digest_of_lines(file, path)
        else:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Payload(file, file.tell(), digest)
    except OSError as error:
        file.close()
        raise _unreadable(path, error) from None
    except InputError:
        file.close()
        raise


def _digest_of_lines(file: IO[bytes], path: Path) -> str:
    """Hash a file while looking for a line that no dataset takes; a chunk holds no such line."""
    digest, number, length = hashlib.sha256(), 1, 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        end = chunk.find(b"\n")
        length += len(chunk) if end < 0 else end
        if length > LONGEST_LINE_BYTES:
            raise InputError(
                f"push_file: {path} line {number} is longer than {LONGEST_LINE_BYTES} bytes, the "
                "most a line of a dataset may have; leave it out or shorten its texts; nothing was "
                "sent"
            )
        if end >= 0:
            number += chunk.count(b"\n")
            length = len(chunk) - chunk.rfind(b"\n") - 1
    return digest.hexdigest()


def rows_of_file(path: Path) -> Iterator[Row]:
    """Yield the rows of a JSONL file; blank lines are skipped, a byte order mark is no content.

    Raises:
        SourceNotFound: There is no such file.
        UnreadableSource: It cannot be read.
        InputError: A line is no JSON object; the message names it.
    """
    with file_payload(path, is_jsonl=True) as payload:
        payload.file.seek(0)
        for number, line in enumerate(payload.file, 1):
            text = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            if not text.strip():
                continue
            try:
                row = jsonio.loads(text)
            except ValueError as error:
                raise InputError(f"push_file: {path} line {number} is not JSON: {error}") from None
            if not isinstance(row, dict):
                raise InputError(f"push_file: {path} line {number} is no JSON object")
            yield row


def _unreadable(path: Path, error: OSError) -> UnreadableSource:
    return UnreadableSource(f"push_file: cannot read {path}: {error.strerror or error}")
