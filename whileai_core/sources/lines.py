"""Lines of a byte stream in blocks: a record ends at a line feed and at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from whileai_core import jsonio
from whileai_core.sources.compression import BrokenStream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.sources.compression import ByteStream

BLOCK_BYTES = 256 * 1024
KEPT_BYTES = 256 * 1024  # of a line past the limit


class LineBlock(NamedTuple):
    """Some whole lines, without their line feeds.

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
    number = 1
    pending: list[bytes] = []  # the pieces of a line whose end is not read yet
    held = 0
    too_long: bytes | None = None  # the start of a line past the limit, while it is skipped
    broken: BrokenStream | None = None
    data = start or _next(stream)
    while data:
        if isinstance(data, BrokenStream):
            broken = data
            break
        lines = data.split(b"\n")
        rest = lines.pop()
        if not lines:
            if too_long is None:
                pending.append(rest)
                held += len(rest)
        else:
            exact = not jsonio.has_long_integers(data)
            if too_long is not None:
                yield LongLine(number, too_long)
                too_long = None
                number += 1
                del lines[0]
            elif pending:
                lines[0] = b"".join((*pending, lines[0]))
                exact = exact and not jsonio.has_long_integers(lines[0])
            if lines:
                yield LineBlock(number, lines, exact)
                number += len(lines)
            pending, held = [rest], len(rest)
        if held > longest:
            too_long = b"".join(pending)[:KEPT_BYTES]
            pending, held = [], 0
        data = _next(stream)
    if too_long is not None:
        yield LongLine(number, too_long)
    elif held:
        line = b"".join(pending)
        yield LineBlock(number, [line], not jsonio.has_long_integers(line))
    if broken is not None:
        yield broken


def _next(stream: ByteStream) -> bytes | BrokenStream:
    try:
        return stream.read1(BLOCK_BYTES)
    except BrokenStream as error:
        return error
