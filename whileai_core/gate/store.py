"""Database operations on datasets that several routes share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException

from whileai_core.gate.database import now_ms
from whileai_core.gate.garbage import note_unlinked
from whileai_core.gate.tables import Account, Agent, Dataset, Part, Upload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncSession

PENDING, IMPORTING, READY, FAILED = "pending", "importing", "ready", "failed"


async def own_dataset(
    session: AsyncSession, account: str, dataset_id: str, *, lock: bool = False
) -> Dataset:
    """Return a dataset of the account.

    Raises:
        HTTPException: 404 when there is none, or it is somebody else's.
    """
    query = select(Dataset).where(Dataset.id == dataset_id, Dataset.account_id == account)
    if lock:
        query = query.with_for_update()
    dataset = await session.scalar(query)
    if dataset is None:
        raise HTTPException(404, f"there is no dataset {dataset_id[:60]!r}")
    return dataset


async def parts_of(session: AsyncSession, dataset: Dataset) -> Sequence[Part]:
    """Return the parts of a finalized dataset in their order.

    Raises:
        HTTPException: 409 when it has no data yet.
    """
    if dataset.status != READY:
        raise HTTPException(409, f"dataset {dataset.id} is {dataset.status}, it has no data yet")
    query = select(Part).where(Part.dataset_number == dataset.number).order_by(Part.number)
    return (await session.scalars(query)).all()


async def delete_dataset(session: AsyncSession, dataset: Dataset) -> list[str]:
    """Delete a dataset; return the keys of its blobs, noted as garbage."""
    keys: list[str] = []
    for table in (Part, Upload):
        query = select(table.blob_key).where(table.dataset_number == dataset.number)
        keys += (await session.scalars(query)).all()
    await note_unlinked(session, keys)
    await session.delete(dataset)
    return keys


async def remove_part(session: AsyncSession, part: Part, dataset: Dataset) -> list[str]:
    """Take a trace's part out of its dataset; return the blobs that became garbage.

    The dataset stays, even empty: the peer SDK's purge deletes it after its traces, and takes a
    404 there for a failure.
    """
    await note_unlinked(session, [part.blob_key])
    await session.delete(part)
    dataset.rows = (dataset.rows or 0) - part.rows
    dataset.size_bytes -= part.size_bytes
    dataset.profile = None
    await session.flush()
    return [part.blob_key]


async def is_empty(session: AsyncSession, dataset: Dataset) -> bool:
    """Tell whether a dataset has no parts."""
    parts = select(func.count()).where(Part.dataset_number == dataset.number)
    return not await session.scalar(parts)


async def lock_account(session: AsyncSession, account: str) -> None:
    """Let transactions that change an account's spans and raw datasets follow each other."""
    await session.execute(select(Account.id).where(Account.id == account).with_for_update())


async def register_agent(session: AsyncSession, account: str, slug: str, name: str) -> Agent:
    """Return the record of an agent; naming one anywhere makes it."""
    found = await session.get(Agent, (account, slug))
    if found is not None:
        return found
    agent = Agent(account_id=account, slug=slug, name=name, created_at=now_ms())
    try:
        async with session.begin_nested():
            session.add(agent)
    except IntegrityError:  # made by another transaction in between (PostgreSQL only)
        return await session.get_one(Agent, (account, slug))
    return agent


async def find_earlier(session: AsyncSession, wanted: Dataset) -> Dataset | None:
    """Return the dataset that the same request made before, by its Idempotency-Key.

    Raises:
        HTTPException: 409 when another request used the key.
    """
    found = await session.scalar(
        select(Dataset).where(
            Dataset.account_id == wanted.account_id,
            Dataset.idempotency_key == wanted.idempotency_key,
        )
    )
    if found is not None and found.request_digest != wanted.request_digest:
        raise HTTPException(
            409, f"this Idempotency-Key already made dataset {found.id} from another request"
        )
    return found
