"""The spans an account has sent: stored once each, found again by trace and conversation."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from whileai_core import jsonio
from whileai_core.dialects.spans import Span
from whileai_core.gate.database import now_ms
from whileai_core.gate.tables import SpanRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from sqlalchemy import ColumnElement
    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.deliveries import Delivered

_BATCH = 400  # databases bound the parameters of a statement
_LEVEL = 1  # quick; histories repeat, so it already shrinks them well


class Version(NamedTuple):
    """Tells whether spans came or went: numbers only grow."""

    total: int
    newest: int


@dataclass(frozen=True)
class Circle:
    """Traces that have to be looked at together, since conversations run through them."""

    traces: frozenset[str]
    conversations: frozenset[str]


class Stored(NamedTuple):
    """A span read back, with what it is filed under."""

    span: Span
    dataset_name: str | None
    has_content: bool


async def add_spans(session: AsyncSession, account: str, spans: Sequence[Delivered]) -> set[str]:
    """Store the spans that are not there yet; return the traces that gained one."""
    gained: set[str] = set()
    insert = postgresql.insert if _dialect(session) == "postgresql" else sqlite.insert
    for batch in batches(spans, _BATCH // 10):
        query = (
            insert(SpanRecord)
            .values([_values(account, delivered) for delivered in batch])
            .on_conflict_do_nothing(index_elements=["account_id", "digest"])
            .returning(SpanRecord.trace_id)
        )
        gained.update((await session.scalars(query)).all())
    return gained


async def circle_around(session: AsyncSession, account: str, traces: Collection[str]) -> Circle:
    """Return the traces that share conversations with these, and with those, and so on."""
    known, conversations = set(traces), set[str]()
    fresh = set(traces)
    while fresh:
        found = await _distinct(session, account, "conversation", "trace_id", fresh)
        found -= conversations
        conversations |= found
        fresh = await _distinct(session, account, "trace_id", "conversation", found) - known
        known |= fresh
    return Circle(frozenset(known), frozenset(conversations))


async def version(session: AsyncSession, account: str, circle: Circle) -> Version:
    """Return what changes whenever a span of the circle comes or goes."""
    total = newest = 0
    for column, keys in (("trace_id", circle.traces), ("conversation", circle.conversations)):
        for batch in batches(sorted(keys)):
            query = select(func.count(), func.max(SpanRecord.number)).where(
                SpanRecord.account_id == account, getattr(SpanRecord, column).in_(batch)
            )
            some, last = (await session.execute(query)).one()
            total, newest = total + some, max(newest, last or 0)
    return Version(total, newest)


async def load(
    session: AsyncSession, account: str, traces: Collection[str]
) -> dict[str, list[Stored]]:
    """Return the spans of traces, each trace's in the order they came."""
    found: dict[str, list[Stored]] = {}
    for batch in batches(sorted(traces)):
        query = (
            select(SpanRecord)
            .where(SpanRecord.account_id == account, SpanRecord.trace_id.in_(batch))
            .order_by(SpanRecord.number)
        )
        for record in await session.scalars(query):
            span = Span.from_json(jsonio.loads(zlib.decompress(record.body)))
            stored = Stored(span, record.dataset_name, record.has_content)
            found.setdefault(record.trace_id, []).append(stored)
    return found


async def delete_spans(session: AsyncSession, account: str, which: ColumnElement[bool]) -> None:
    """Delete spans of an account."""
    await session.execute(delete(SpanRecord).where(SpanRecord.account_id == account, which))


def _values(account: str, delivered: Delivered) -> dict[str, Any]:
    return {
        "account_id": account,
        "trace_id": delivered.span.trace_id,
        "digest": delivered.digest,
        "conversation": delivered.conversation,
        "dataset_name": delivered.dataset_name,
        "has_content": delivered.has_content,
        "body": zlib.compress(delivered.body, _LEVEL),
        "received_at": now_ms(),
    }


async def _distinct(
    session: AsyncSession, account: str, wanted: str, by: str, keys: Collection[str]
) -> set[str]:
    found: set[str] = set()
    column = getattr(SpanRecord, wanted)
    for batch in batches(sorted(keys)):
        query = select(column).where(
            SpanRecord.account_id == account,
            getattr(SpanRecord, by).in_(batch),
            column.is_not(None),
        )
        found.update((await session.scalars(query.distinct())).all())
    return found


def _dialect(session: AsyncSession) -> str:
    return session.get_bind().dialect.name


def batches(items: Sequence[Any], size: int = _BATCH) -> Iterator[Sequence[Any]]:
    """Cut what a statement gets as parameters into pieces that databases take."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
