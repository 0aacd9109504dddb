"""Durable background jobs: noted with the change that needs them, done once, by one at a time.

A job is taken with a lease that is renewed while the work goes on. When the worker dies the
lease runs out and another one carries on. Work may so begin more than once, but `Claim.finish`
belongs into the transaction that makes its effects visible, and succeeds only once.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from sqlalchemy import delete, func, select, update

from whileai_core.errors import WhileError
from whileai_core.gate.database import Database, now_ms
from whileai_core.gate.tables import Job

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.state import Gate

_log = logging.getLogger(__name__)

OPEN, FAILED = "open", "failed"
MAX_ATTEMPTS = 8
_BACKOFF_MS = 1000
_POLL_SECONDS = 2.0
_RENEWALS = 3  # within one lease


class LeaseLost(Exception):
    """The job is somebody else's by now, or done; whatever was made for it must be dropped."""


@dataclass(frozen=True)
class Claim:
    """A job this process has the lease of."""

    number: int
    kind: str
    payload: dict[str, Any]
    holder: str
    attempts: int

    async def finish(self, session: AsyncSession) -> None:
        """Mark the job as done, in the transaction of its effects.

        Raises:
            LeaseLost: It no longer is this claim's; the transaction must not be committed.
        """
        done = await session.execute(
            delete(Job)
            .where(Job.number == self.number, Job.holder == self.holder)
            .returning(Job.number)
        )
        if done.first() is None:
            raise LeaseLost(f"job {self.number}")


Handler: TypeAlias = Callable[["Gate", Claim], Awaitable[None]]


async def add(session: AsyncSession, kind: str, payload: dict[str, Any], lease: float) -> Claim:
    """Note a job in the transaction that makes it necessary, taken by the caller already."""
    job = Job(
        kind=kind,
        payload=payload,
        state=OPEN,
        holder=secrets.token_hex(8),
        lease_until=now_ms() + round(lease * 1000),
        attempts=1,
        created_at=now_ms(),
    )
    session.add(job)
    await session.flush()
    return _claim(job)


async def run(gate: Gate, claim: Claim, handler: Handler) -> bool:
    """Work on a claimed job; a failure is noted and tried again later.

    Returns:
        Whether the job is done, by this or another worker.
    """
    async with anyio.create_task_group() as group:
        group.start_soon(_renew, gate, claim)
        failure = await _outcome(gate, claim, handler)
        group.cancel_scope.cancel()
    if failure is None:
        return True
    await _release(gate.database, claim, failure)
    return False


async def run_due(
    gate: Gate, handlers: Mapping[str, Handler], stop: anyio.Event | None = None
) -> None:
    """Work on every job that is free, one after the other, until told to stop."""
    while not (stop and stop.is_set()):
        claim = await _take(gate, list(handlers))
        if claim is None:
            return
        await run(gate, claim, handlers[claim.kind])


async def note(session: AsyncSession, kind: str, payload: dict[str, Any]) -> None:
    """Note a job in the transaction that makes it necessary, for whichever worker is free."""
    job = Job(
        kind=kind, payload=payload, state=OPEN, lease_until=0, attempts=0, created_at=now_ms()
    )
    session.add(job)


async def seconds_until_due(gate: Gate, kinds: Collection[str]) -> float | None:
    """Return when the next job that nobody holds is free; None when there is none."""
    waiting = select(func.min(Job.lease_until)).where(
        Job.state == OPEN, Job.kind.in_(kinds), Job.holder.is_(None)
    )
    async with gate.database.read() as session:
        due = await session.scalar(waiting)
    return None if due is None else max(0.0, (due - now_ms()) / 1000)


async def any_free(gate: Gate, kinds: Collection[str]) -> bool:
    """Tell whether there is a job to take now, a dead worker's among them."""
    free = select(Job.number).where(
        Job.state == OPEN, Job.kind.in_(kinds), Job.lease_until <= now_ms()
    )
    async with gate.database.read() as session:
        return await session.scalar(free.limit(1)) is not None


@contextlib.asynccontextmanager
async def at_work(gate: Gate, handlers: Mapping[str, Handler]) -> AsyncIterator[None]:
    """Work on jobs as they become free; at the end the one in hand is finished."""
    stop = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_work, gate, handlers, stop)
        yield
        stop.set()


async def _work(gate: Gate, handlers: Mapping[str, Handler], stop: anyio.Event) -> None:
    while not stop.is_set():
        try:
            await run_due(gate, handlers, stop)
        except Exception:  # the database may be away for a while; jobs wait
            _log.warning("jobs cannot be read now", exc_info=True)
        with anyio.move_on_after(_POLL_SECONDS):
            await stop.wait()


async def _outcome(gate: Gate, claim: Claim, handler: Handler) -> Exception | None:
    try:
        await handler(gate, claim)
    except LeaseLost:
        _log.info("job %d (%s) was done by another worker", claim.number, claim.kind)
    except Exception as error:  # any fault of the work is the job's, not the worker's
        if isinstance(error, WhileError):  # which says what to do; where it was raised helps nobody
            _log.warning("job %d (%s) failed: %s", claim.number, claim.kind, error)
        else:
            _log.error("job %d (%s) failed", claim.number, claim.kind, exc_info=error)
        return error
    return None


async def _take(gate: Gate, kinds: list[str]) -> Claim | None:
    free = (
        select(Job.number)
        .where(Job.state == OPEN, Job.lease_until <= now_ms(), Job.kind.in_(kinds))
        .order_by(Job.lease_until)
        .limit(1)
    )
    async with gate.database.read() as session:  # mostly there is none: no lock for that
        if await session.scalar(free) is None:
            return None
    async with gate.database.write() as session:
        number = await session.scalar(free.with_for_update(skip_locked=True))
        if number is None:
            return None
        job = await session.get_one(Job, number)
        job.holder = secrets.token_hex(8)
        job.lease_until = now_ms() + round(gate.settings.lease_seconds * 1000)
        job.attempts += 1
        return _claim(job)


async def _renew(gate: Gate, claim: Claim) -> None:
    lease = gate.settings.lease_seconds
    while True:
        await anyio.sleep(lease / _RENEWALS)
        # A transaction that is cancelled in the middle leaves its locks behind.
        with anyio.CancelScope(shield=True):
            await _extend(gate.database, claim, lease)


async def _extend(database: Database, claim: Claim, lease: float) -> None:
    async with database.write() as session:
        await session.execute(
            update(Job)
            .where(Job.number == claim.number, Job.holder == claim.holder)
            .values(lease_until=now_ms() + round(lease * 1000))
        )


async def _release(database: Database, claim: Claim, failure: Exception) -> None:
    async with database.write() as session:
        job = await session.scalar(
            select(Job)
            .where(Job.number == claim.number, Job.holder == claim.holder)
            .with_for_update()
        )
        if job is None:
            return
        job.holder = None
        job.error = type(failure).__name__  # the text may hold what spans say; the log has it
        job.lease_until = now_ms() + _BACKOFF_MS * 2**job.attempts
        if job.attempts >= MAX_ATTEMPTS:
            job.state = FAILED


def _claim(job: Job) -> Claim:
    assert job.holder is not None  # noqa: S101  set where the job was taken
    return Claim(job.number, job.kind, job.payload, job.holder, job.attempts)
