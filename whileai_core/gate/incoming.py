"""Take a stream of bytes into the blob store: durable, hashed, its lines counted, in one pass.

Memory stays at about two chunks and the longest line, whatever the size of the stream.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread

from whileai_core.gate.http import too_large
from whileai_core.gate.jsonl import LineCounter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whileai_core.gate.blobs import BlobWriter
    from whileai_core.gate.state import Gate

_CHUNK = 1024 * 1024


class StoredBlob(NamedTuple):
    """A blob in the store and what was learned as it passed by."""

    key: str
    size: int
    sha256: str
    rows: int
    problem: str | None


async def receive_blob(
    gate: Gate, key: str, stream: AsyncIterator[bytes], *, rows: bool = True
) -> StoredBlob:
    """Store a stream under a key that was noted as being written.

    Whatever interrupts it leaves nothing behind.

    Args:
        gate: The gate.
        key: Key of the blob.
        stream: Its bytes.
        rows: Whether it should be JSONL, and its lines are counted.

    Raises:
        HTTPException: 413 when the stream is longer than the gate accepts.
    """
    writer = await anyio.to_thread.run_sync(gate.blobs.writer, key)
    intake = _Intake(writer, LineCounter(gate.settings.max_line_bytes) if rows else None)
    limit = gate.settings.max_upload_bytes
    waiting = bytearray()
    try:
        async for piece in stream:
            waiting += piece
            if intake.size + len(waiting) > limit:
                raise too_large(limit)
            if len(waiting) >= _CHUNK:
                await anyio.to_thread.run_sync(intake.take, bytes(waiting))
                waiting.clear()
        await anyio.to_thread.run_sync(intake.finish, bytes(waiting))
    except BaseException:
        await anyio.to_thread.run_sync(writer.abort)
        raise
    return intake.stored(key)


class _Intake:
    """The blocking side; runs in a worker thread, one call at a time."""

    def __init__(self, writer: BlobWriter, lines: LineCounter | None) -> None:
        self.size = 0
        self.sha256 = hashlib.sha256()
        self.lines = lines
        self._writer = writer

    def take(self, data: bytes) -> None:
        self._writer.write(data)
        self.sha256.update(data)
        if self.lines is not None:
            self.lines.feed(data)
        self.size += len(data)

    def finish(self, data: bytes) -> None:
        self.take(data)
        if self.lines is not None:
            self.lines.finish()
        self._writer.commit()

    def stored(self, key: str) -> StoredBlob:
        rows, problem = (self.lines.rows, self.lines.problem) if self.lines else (0, None)
        return StoredBlob(key, self.size, self.sha256.hexdigest(), rows, problem)
