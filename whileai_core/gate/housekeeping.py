"""What a served gate clears away as long as it runs: due blobs, and spans that came to nothing."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING

import anyio
from sqlalchemy import delete, exists, select
from sqlalchemy.orm import aliased

from whileai_core.gate.database import now_ms
from whileai_core.gate.garbage import collect_due
from whileai_core.gate.store import lock_account
from whileai_core.gate.tables import SpanRecord

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import ColumnElement

    from whileai_core.gate.state import Gate

_log = logging.getLogger(__name__)
_EVERY_SECONDS = 3600.0
_AT_ONCE = 5000  # other writers get their turn between two of these


@contextlib.asynccontextmanager
async def at_work(gate: Gate) -> AsyncIterator[None]:
    """Clear away now and every hour."""
    async with anyio.create_task_group() as group:
        group.start_soon(_keep_house, gate)
        yield
        group.cancel_scope.cancel()


async def _keep_house(gate: Gate) -> None:
    while True:
        # A transaction that is cancelled in the middle leaves its locks behind.
        with anyio.CancelScope(shield=True):
            try:
                await collect_due(gate.database, gate.blobs)
                await expire_spans(gate)
            except Exception:  # the database may be away for a while; the next hour will do
                _log.warning("could not clear away now", exc_info=True)
        await anyio.sleep(_EVERY_SECONDS)


async def expire_spans(gate: Gate) -> int:
    """Delete spans that lie here for long and belong to no conversation; return how many.

    A span without content is kept for a while, because a later one of its trace may give it a
    meaning.
    """
    before = now_ms() - round(gate.settings.loose_span_seconds * 1000)
    loose = _loose(before)
    async with gate.database.read() as session:
        accounts = (
            await session.scalars(select(SpanRecord.account_id).where(loose).distinct())
        ).all()
    expired = 0
    for account in accounts:
        batch = _AT_ONCE
        while batch == _AT_ONCE:
            async with gate.database.write() as session:
                await lock_account(session, account)  # no span comes meanwhile
                mine = select(SpanRecord.number).where(loose, SpanRecord.account_id == account)
                numbers = (await session.scalars(mine.limit(_AT_ONCE))).all()
                await session.execute(delete(SpanRecord).where(SpanRecord.number.in_(numbers)))
            batch = len(numbers)
            expired += batch
    if expired:
        _log.info("%d spans without a conversation have expired", expired)
    return expired


def _loose(before: int) -> ColumnElement[bool]:
    other = aliased(SpanRecord)
    with_content = exists().where(
        other.account_id == SpanRecord.account_id,
        other.trace_id == SpanRecord.trace_id,
        other.has_content,
    )
    return (SpanRecord.received_at < before) & ~SpanRecord.has_content & ~with_content
