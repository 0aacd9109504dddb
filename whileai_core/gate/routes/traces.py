"""Traces that were taken in one by one: each is a part of its dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core.gate import fields
from whileai_core.gate.garbage import collect, note_unlinked
from whileai_core.gate.http import JsonResponse, gate_of, keyed
from whileai_core.gate.store import delete_dataset
from whileai_core.gate.tables import Dataset, Part

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

_LARGEST_PAGE = 500
_DEFAULT_PAGE = 200


@keyed
async def list_own(request: Request, account: str) -> Response:
    """`GET /traces`: a page of the account's traces, oldest first."""
    page = _whole(request, "page", 1)
    limit = min(_whole(request, "limit", _DEFAULT_PAGE), _LARGEST_PAGE)
    wanted = [Dataset.account_id == account, Part.trace_id.is_not(None)]
    agent = request.query_params.get("agent", "").strip()
    if agent:
        wanted.append(Part.agent == fields.agent_slug(agent))
    traces = select(Part.trace_id, Part.agent, Dataset.id).join(Dataset).where(*wanted)
    count = select(func.count()).select_from(Part).join(Dataset).where(*wanted)
    async with gate_of(request).database.read() as session:
        total = await session.scalar(count) or 0
        shown = traces.order_by(Part.id).limit(limit).offset((page - 1) * limit)
        rows = (await session.execute(shown)).all()
    return JsonResponse(
        {
            "traces": [
                {"traceId": trace, "agent": agent, "datasetId": dataset}
                for trace, agent, dataset in rows
            ],
            "page": page,
            "pages": max(1, -(-total // limit)),
            "total": total,
        }
    )


@keyed
async def delete(request: Request, account: str) -> Response:
    """`DELETE /traces/{id}`: from its dataset too; one that is not there is deleted already."""
    gate = gate_of(request)
    trace_id = request.path_params["id"]
    query = select(Part, Dataset).join(Dataset)
    query = query.where(Dataset.account_id == account, Part.trace_id == trace_id)
    unlinked: list[str] = []
    async with gate.database.write() as session:
        for part, dataset in (await session.execute(query.with_for_update())).all():
            unlinked += await _delete_part(session, part, dataset)
    await collect(gate.database, gate.blobs, unlinked)
    return JsonResponse({"deleted": True, "traceId": trace_id})


async def _delete_part(session: AsyncSession, part: Part, dataset: Dataset) -> list[str]:
    parts = select(func.count()).where(Part.dataset_number == dataset.number)
    if await session.scalar(parts) == 1:  # a set made of traces goes with the last one
        return await delete_dataset(session, dataset)
    await note_unlinked(session, [part.blob_key])
    await session.delete(part)
    dataset.rows = (dataset.rows or 0) - part.rows
    dataset.size_bytes -= part.size_bytes
    dataset.profile = None
    await session.flush()
    return [part.blob_key]


def _whole(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, "") or str(default)
    if not value.isascii() or not value.isdecimal() or not 0 < int(value) <= 1_000_000:
        raise HTTPException(400, f"{name} must be a whole number from 1")
    return int(value)


routes = [
    Route("/traces", list_own, methods=["GET"]),
    Route("/traces/{id}", delete, methods=["DELETE"]),
]
