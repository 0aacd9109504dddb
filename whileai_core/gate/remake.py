"""Parts of raw datasets out of the spans of traces: one part a trace, made anew when spans come.

Rows are made of all spans of a conversation, wherever it runs: a row lies in the part of the
trace it began in, and later traces of the same conversation have parts without rows.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from sqlalchemy import func, select

from whileai_core import jsonio
from whileai_core.dialects.spans import rows_from_spans
from whileai_core.gate import spans
from whileai_core.gate.blobs import new_key
from whileai_core.gate.garbage import collect, note_linked, note_unlinked, note_writing
from whileai_core.gate.jobs import Claim, LeaseLost, add
from whileai_core.gate.rawsets import Destination, destination_of, raw_dataset
from whileai_core.gate.store import delete_dataset, is_empty, lock_account, remove_part
from whileai_core.gate.tables import Dataset, Part

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.state import Gate

KIND = "remake"


@dataclass(frozen=True)
class _Made:
    """The part of one trace, written but not yet linked."""

    trace: str
    to: Destination
    key: str
    data: bytes
    rows: int


async def note_remake(
    session: AsyncSession, gate: Gate, account: str, traces: Collection[str]
) -> Claim:
    """Note, with the change to the spans, that these traces' parts have to be made anew."""
    payload = {"account": account, "traces": sorted(traces)}
    return await add(session, KIND, payload, gate.settings.lease_seconds)


async def remake(gate: Gate, claim: Claim) -> None:
    """Make the parts of a job's traces, and of those that share conversations with them.

    Raises:
        LeaseLost: Another worker has done it.
    """
    account = claim.payload["account"]
    replaced: list[str] | None = None
    while replaced is None:  # spans that came meanwhile have to be in it too
        async with gate.database.read() as session:
            circle = await spans.circle_around(session, account, claim.payload["traces"])
            seen = await spans.version(session, account, circle)
            found = await spans.load(session, account, circle.traces)
        made = await anyio.to_thread.run_sync(_made, found)
        await _write(gate, made)
        # Whatever fails from here on may have been committed: then the notes of the blobs decide.
        try:
            replaced = await _publish(gate, claim, circle, seen, made)
        except LeaseLost:
            await collect(gate.database, gate.blobs, [part.key for part in made])
            raise
        garbage = [part.key for part in made] if replaced is None else replaced
        await collect(gate.database, gate.blobs, garbage)


async def _publish(
    gate: Gate, claim: Claim, circle: spans.Circle, seen: spans.Version, made: Sequence[_Made]
) -> list[str] | None:
    """Make the parts visible and the job done at once; None when spans came meanwhile."""
    account = claim.payload["account"]
    async with gate.database.write() as session:
        await lock_account(session, account)
        if await spans.version(session, account, circle) != seen:
            return None
        replaced = await _link(session, account, circle, made)
        await claim.finish(session)
    return replaced


def _made(found: Mapping[str, Sequence[spans.Stored]]) -> list[_Made]:
    # A trace that says nothing has no part: a row must not begin in it, and be lost with it.
    speaking = {
        trace: stored for trace, stored in found.items() if any(one.has_content for one in stored)
    }
    rows = _rows_by_trace(speaking)
    made = []
    for trace, stored in speaking.items():
        lines = [jsonio.dumps_line(row) for row in rows.get(trace, ())]
        made.append(_Made(trace, destination_of(stored), new_key(), b"".join(lines), len(lines)))
    return made


def _rows_by_trace(found: Mapping[str, Sequence[spans.Stored]]) -> dict[str, list[Any]]:
    everything = [one.span for stored in found.values() for one in stored]
    # The order of arrival must not show, neither in rows nor in where they lie.
    everything.sort(key=lambda span: (span.start_ns, span.trace_id, span.span_id))
    rows: dict[str, list[Any]] = {}
    for row in rows_from_spans(everything):
        rows.setdefault(str(row.get("trace_id") or row["conversation_id"]), []).append(row)
    return rows


async def _write(gate: Gate, made: Sequence[_Made]) -> None:
    async with gate.database.write() as session:
        for part in made:
            await note_writing(session, part.key)
    await anyio.to_thread.run_sync(_write_all, gate, made)


def _write_all(gate: Gate, made: Sequence[_Made]) -> None:
    for part in made:
        writer = gate.blobs.writer(part.key)
        try:
            writer.write(part.data)
            writer.commit()
        except BaseException:
            writer.abort()
            raise


async def _link(
    session: AsyncSession, account: str, circle: spans.Circle, made: Sequence[_Made]
) -> list[str]:
    """Put the parts where they belong; return the blobs that became garbage."""
    garbage: list[str] = []
    wanted = {part.trace: part for part in made}
    old = await _old_parts(session, account, circle)
    for trace, (part, dataset) in old.items():
        new = wanted.get(trace)
        if new is None or dataset.id != (await raw_dataset(session, account, new.to)).id:
            garbage += await remove_part(session, part, dataset)
            if new is not None and await is_empty(session, dataset):
                # Made when the agent was not known yet.
                garbage += await delete_dataset(session, dataset)
        else:
            garbage += await _replace(session, part, dataset, wanted.pop(trace))
    for new in wanted.values():
        await _append(session, await raw_dataset(session, account, new.to), new)
    return garbage


async def _old_parts(
    session: AsyncSession, account: str, circle: spans.Circle
) -> dict[str, tuple[Part, Dataset]]:
    found = {}
    for batch in spans.batches(sorted(circle.traces)):
        query = select(Part, Dataset).join(Dataset)
        query = query.where(Dataset.account_id == account, Part.trace_id.in_(batch))
        for part, dataset in (await session.execute(query.with_for_update())).all():
            found[str(part.trace_id)] = (part, dataset)
    return found


async def _replace(session: AsyncSession, part: Part, dataset: Dataset, new: _Made) -> list[str]:
    sha256 = hashlib.sha256(new.data).hexdigest()
    part.agent = new.to.slug
    if sha256 == part.sha256:
        return [new.key]
    unlinked = part.blob_key
    await note_linked(session, new.key)
    await note_unlinked(session, [unlinked])
    dataset.rows = (dataset.rows or 0) + new.rows - part.rows
    dataset.size_bytes += len(new.data) - part.size_bytes
    dataset.profile = None
    part.blob_key, part.sha256 = new.key, sha256
    part.size_bytes, part.rows = len(new.data), new.rows
    return [unlinked]


async def _append(session: AsyncSession, dataset: Dataset, new: _Made) -> None:
    await note_linked(session, new.key)
    last = select(func.max(Part.number)).where(Part.dataset_number == dataset.number)
    session.add(
        Part(
            dataset_number=dataset.number,
            number=(await session.scalar(last) or 0) + 1,
            blob_key=new.key,
            size_bytes=len(new.data),
            sha256=hashlib.sha256(new.data).hexdigest(),
            rows=new.rows,
            trace_id=new.trace,
            agent=new.to.slug,
        )
    )
    dataset.rows = (dataset.rows or 0) + new.rows
    dataset.size_bytes += len(new.data)
    dataset.profile = None
    await session.flush()
