"""Blobs nobody refers to: noted in the transaction that unlinks them, deleted after it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import anyio.to_thread
from sqlalchemy import delete, select

from whileai_core.gate.database import Database, now_ms
from whileai_core.gate.tables import Garbage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.blobs import BlobStore

_log = logging.getLogger(__name__)
# An upload that takes longer than this finds its blob given up, and fails.
WRITING_MS = 24 * 3600 * 1000
_BATCH = 500  # databases bound the parameters of a statement


async def note_writing(session: AsyncSession, key: str) -> None:
    """Note a blob that is about to be written, in case its writer dies."""
    session.add(Garbage(blob_key=key, due_at=now_ms() + WRITING_MS))


async def note_linked(session: AsyncSession, key: str) -> bool:
    """Take the note back, now that something refers to the blob.

    Returns:
        False when the blob was already given up and must not be used.
    """
    taken = await session.execute(
        delete(Garbage).where(Garbage.blob_key == key).returning(Garbage.blob_key)
    )
    return taken.first() is not None


async def note_unlinked(session: AsyncSession, keys: Iterable[str]) -> None:
    """Note blobs that nothing will refer to after this transaction."""
    session.add_all(Garbage(blob_key=key, due_at=now_ms()) for key in keys)


async def collect(database: Database, blobs: BlobStore, keys: Sequence[str]) -> None:
    """Delete noted blobs; one that cannot be deleted now is tried at the next start."""
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        gone = await anyio.to_thread.run_sync(_delete_all, blobs, batch)
        async with database.write() as session:
            await session.execute(delete(Garbage).where(Garbage.blob_key.in_(gone)))


async def collect_due(database: Database, blobs: BlobStore) -> None:
    """Delete every blob whose time has come."""
    async with database.read() as session:
        due = select(Garbage.blob_key).where(Garbage.due_at <= now_ms())
        keys = (await session.scalars(due)).all()
    await collect(database, blobs, keys)


def _delete_all(blobs: BlobStore, keys: Sequence[str]) -> list[str]:
    """Delete blobs; return the keys of those that are gone."""
    gone = []
    for key in keys:
        try:
            blobs.delete(key)
        except OSError as error:
            _log.warning("blob %s stays for now: %s", key, error)
        else:
            gone.append(key)
    return gone
