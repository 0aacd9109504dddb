"""The catalog: datasets their owners made public, readable without a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core.gate import fields
from whileai_core.gate.database import now_ms
from whileai_core.gate.http import JsonResponse, gate_of, keyed, read_json
from whileai_core.gate.routes.transfers import grant
from whileai_core.gate.store import own_dataset, parts_of, register_agent
from whileai_core.gate.tables import Dataset
from whileai_core.gate.views import card

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


@keyed
async def publish(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/publish`; again without description keeps the old one."""
    body = await read_json(request)
    description = fields.text(body, "description")
    agent = fields.agent(body)
    async with gate_of(request).database.write() as session:
        dataset = await own_dataset(session, account, request.path_params["id"], lock=True)
        if agent is None:
            raise HTTPException(400, "agent is required to publish")
        await parts_of(session, dataset)  # refuses a set without data
        if not dataset.rows:
            raise HTTPException(409, f"dataset {dataset.id} has no rows to publish")
        dataset.agent = (await register_agent(session, account, *agent)).slug
        if fields.sent(body, "description"):
            dataset.description = description
        dataset.published_at = dataset.published_at or now_ms()
    return JsonResponse(card(dataset))


@keyed
async def unpublish(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/unpublish`: the data stays with its owner."""
    async with gate_of(request).database.write() as session:
        dataset = await own_dataset(session, account, request.path_params["id"], lock=True)
        dataset.published_at = None
    return JsonResponse({"datasetId": dataset.id, "public": False})


async def catalog(request: Request) -> Response:
    """`GET /catalog`: every public dataset, newest publication first."""
    newest = Dataset.published_at.desc(), Dataset.number.desc()
    query = select(Dataset).where(Dataset.published_at.is_not(None)).order_by(*newest)
    async with gate_of(request).database.read() as session:
        public = (await session.scalars(query)).all()
    agents = sorted({dataset.agent for dataset in public if dataset.agent})
    return JsonResponse({"datasets": [card(dataset) for dataset in public], "agents": agents})


async def download(request: Request) -> Response:
    """`GET /catalog/{id}/download`: presigned addresses of a public dataset's parts."""
    dataset_id = request.path_params["id"]
    query = select(Dataset).where(Dataset.id == dataset_id, Dataset.published_at.is_not(None))
    async with gate_of(request).database.read() as session:
        dataset = await session.scalar(query)
        if dataset is None:
            raise HTTPException(404, f"there is no public dataset {dataset_id[:60]!r}")
        parts = await parts_of(session, dataset)
    return JsonResponse(grant(request, dataset, parts))


routes = [
    Route("/datasets/{id}/publish", publish, methods=["POST"]),
    Route("/datasets/{id}/unpublish", unpublish, methods=["POST"]),
    Route("/catalog", catalog, methods=["GET"]),
    Route("/catalog/{id}/download", download, methods=["GET"]),
]
