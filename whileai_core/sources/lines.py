"""Lines of a byte stream in blocks: a record ends at a line feed and at nothing else."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whileai_core import jsonio
from whileai_core.sources.batches import starts_batch
from whileai_core.sources.compression import BrokenStream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.sources.compression import ByteStream

BLOCK_BYTES = 120 * 1024  # below what malloc would map afresh each time
KEPT_BYTES = 256 * 1024  # of a line past the limit


class LineBlock(NamedTuple):
    """Some whole lines, with their line feeds.

    Attributes:
        first: Number of the first line, from 1.
        lines: The lines.
        exact: Whether no line can hold an integer that the quick parser would round.
    """

    first: int
    lines: list[bytes]
    exact: bool


class LongLine(NamedTuple):
    """A line past the limit: its number and its start."""

    number: int
    start: bytes


Piece: TypeAlias = LineBlock | LongLine | BrokenStream


def line_blocks(stream: ByteStream, *, longest: int, start: bytes = b"") -> Iterator[Piece]:
    """Yield the lines of a stream; what stood before a break comes first, then the break.

    Args:
        stream: Where to read.
        longest: Lines beyond that many bytes are skipped and named.
        start: Bytes that were already taken from the stream.
    """
    splitter = _Splitter(longest)
    data = start
    while True:
        if data:
            yield from splitter.feed(data)
        try:
            data = stream.read1(BLOCK_BYTES)
        except BrokenStream as error:
            yield from splitter.end()
            yield error
            return
        if not data:
            yield from splitter.end()
            return


class _Splitter:
    """Cuts a stream of bytes into lines, holding no more than one of them."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._number = 1
        self._pending: list[bytes] = []  # the pieces of a line whose end is not read yet
        self._held = 0
        self._too_long: bytes | None = None  # the start of a line past the limit, if in one

    def feed(self, data: bytes) -> Iterator[Piece]:
        lines = io.BytesIO(data).readlines()  # many times quicker than to split
        rest = b"" if lines[-1].endswith(b"\n") else lines.pop()
        if not lines:
            self._hold(rest)
            return
        pending, self._pending, self._held = self._pending, [], 0
        if self._too_long is not None:
            yield LongLine(self._number, self._too_long)
            self._too_long = None
            self._number += 1
            del lines[0]
        elif pending:
            lines[0] = b"".join((*pending, lines[0]))
        if lines:
            exact = all(map(starts_batch, lines)) or not (
                jsonio.has_long_integers(data) or (pending and jsonio.has_long_integers(lines[0]))
            )
            yield LineBlock(self._number, lines, exact)
            self._number += len(lines)
        self._hold(rest)

    def _hold(self, data: bytes) -> None:
        if self._too_long is not None:
            return
        self._pending.append(data)
        self._held += len(data)
        if self._held > self._longest:
            self._too_long = b"".join(self._pending)[:KEPT_BYTES]
            self._pending, self._held = [], 0

    def end(self) -> Iterator[Piece]:
        if self._too_long is not None:
            yield LongLine(self._number, self._too_long)
        elif self._held:
            line = b"".join(self._pending)
            yield LineBlock(self._number, [line], not jsonio.has_long_integers(line))
