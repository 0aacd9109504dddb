"""Lines of a byte stream in blocks: a record ends at a line feed and at nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from whileai_core import jsonio
from whileai_core.sources.compression import BrokenStream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.sources.compression import ByteStream

BLOCK_BYTES = 256 * 1024


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


def line_blocks(
    stream: ByteStream, *, longest: int, start: bytes = b""
) -> Iterator[LineBlock | LongLine | BrokenStream]:
    """Yield the lines of a stream; what stood before a break comes first, then the break.

    Args:
        stream: Where to read.
        longest: Lines beyond that many bytes are skipped and named.
        start: Bytes that were already taken from the stream.
    """
    number = 1
    pending = [start]  # the beginning of a line whose end is not read yet
    held = len(start)
    skipped: bytes | None = None  # the start of the overlong line being skipped
    broken: BrokenStream | None = None
    data = start
    while True:
        end = data.rfind(b"\n")
        if end >= 0 and skipped is not None:
            yield LongLine(number, skipped)
            number += 1
            cut = data.index(b"\n") + 1
            data = data[cut:]
            pending, held, skipped = [data], len(data), None
            end = data.rfind(b"\n")
        if end >= 0:
            pending[-1] = data[:end]
            block = b"".join(pending)
            pending = [data[end + 1 :]]
            held = len(pending[0])
            lines = block.split(b"\n")
            yield LineBlock(number, lines, not jsonio.has_long_integers(block))
            number += len(lines)
        elif held > longest or skipped is not None:
            skipped = skipped or b"".join(pending)[: 4 * BLOCK_BYTES]
            pending, held = [], 0
        try:
            data = stream.read1(BLOCK_BYTES)
        except BrokenStream as error:
            broken, data = error, b""
        if not data:
            break
        pending.append(data)
        held += len(data)
    if skipped is not None:
        yield LongLine(number, skipped)
    elif held:
        rest = b"".join(pending)
        yield LineBlock(number, [rest], not jsonio.has_long_integers(rest))
    if broken is not None:
        yield broken
