"""Traces that were taken in one by one: each is a part of its dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core.gate import fields, spans
from whileai_core.gate.garbage import collect
from whileai_core.gate.http import JsonResponse, gate_of, keyed
from whileai_core.gate.jobs import run as run_job
from whileai_core.gate.remake import note_remake, remake
from whileai_core.gate.store import lock_account, remove_part
from whileai_core.gate.tables import Dataset, Part, SpanRecord

if TYPE_CHECKING:
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
        await lock_account(session, account)
        circle = await spans.circle_around(session, account, [trace_id])
        await spans.delete_spans(session, account, SpanRecord.trace_id == trace_id)
        for part, dataset in (await session.execute(query.with_for_update())).all():
            unlinked += await remove_part(session, part, dataset)
        # Its conversations may go on in other traces, whose rows then lack this part of them.
        others = circle.traces - {trace_id}
        claim = await note_remake(session, gate, account, others) if others else None
    await collect(gate.database, gate.blobs, unlinked)
    if claim is not None:
        await run_job(gate, claim, remake)
    return JsonResponse({"deleted": True, "traceId": trace_id})


def _whole(request: Request, name: str, default: int) -> int:
    value = request.query_params.get(name, "") or str(default)
    if not value.isascii() or not value.isdecimal() or not 0 < int(value) <= 1_000_000:
        raise HTTPException(400, f"{name} must be a whole number from 1")
    return int(value)


routes = [
    Route("/traces", list_own, methods=["GET"]),
    Route("/traces/{id}", delete, methods=["DELETE"]),
]
