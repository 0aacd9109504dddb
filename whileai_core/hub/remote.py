"""Files on the Hub as readers want them: watched for the Hub going away, CSV as records."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any, BinaryIO

from whileai_core.errors import InputError
from whileai_core.hub.failures import translated
from whileai_core.sources.compression import Bounded, BrokenStream, unpacker
from whileai_core.sources.limits import DEFAULT_LIMITS

_LONGEST_CELL = 16 * 1024 * 1024
_BLOCK = 64 * 1024


class Watched(io.RawIOBase):
    """A file on the Hub that remembers what kept it from being read.

    Readers take an error for a damaged file; a Hub that went away is something else.
    """

    def __init__(self, file: BinaryIO, doing: str) -> None:
        self._file = file
        self._doing = doing
        self._trouble: Exception | None = None
        self.name = doing.removeprefix("reading ")

    def through(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yield items that are read from this file, as long as it can be read."""
        try:
            for item in items:
                self._check()
                yield item
        except InputError:
            self._check()
            raise
        except (OSError, ValueError, KeyError) as error:
            self._check()
            raise InputError(f"{self.name} cannot be read: the file is damaged") from error
        self._check()

    def _check(self) -> None:
        if self._trouble is not None:
            raise translated(self._trouble, self._doing) from None

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int | None = -1) -> bytes:
        try:
            return self._file.read(-1 if size is None else size)
        except Exception as error:
            self._trouble = error
            raise OSError("the Hub cannot be read") from None

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def read1(self, size: int = -1, /) -> bytes:
        return self.read(size if size >= 0 else _BLOCK)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def csv_records(file: Any, path: str) -> Iterator[dict[str, Any]]:
    """Yield the lines of a table of text; empty cells are left out.

    Raises:
        InputError: It is damaged, or no table in UTF-8.
    """
    csv.field_size_limit(_LONGEST_CELL)
    head = file.read(6)
    file.seek(0)
    unpack = unpacker(head)
    stream: Any = file
    if unpack is not None:
        unpacked = Bounded(unpack(file), DEFAULT_LIMITS.unpacked_bytes)
        stream = io.BufferedReader(_Raw(unpacked))
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    delimiter = "\t" if ".tsv" in path.lower() else ","
    try:
        for record in csv.DictReader(text, delimiter=delimiter):
            yield {key: value for key, value in record.items() if key and value not in (None, "")}
    except BrokenStream as error:
        raise InputError(f"{path} cannot be read: {error.detail}") from None
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no CSV in UTF-8: {error}") from None


class _Raw(io.RawIOBase):
    """Unpacked bytes as a raw file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)
