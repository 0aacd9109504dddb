"""Agents of an account, and the traces taken in one by one."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from sqlalchemy import delete as sql_delete
from sqlalchemy import func, select
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.gate import fields
from whileai_core.gate.http import Json, JsonResponse, gate_of, keyed, read_json
from whileai_core.gate.store import FAILED, register_agent
from whileai_core.gate.tables import Agent, Dataset, Part
from whileai_core.gate.views import agent_record

if TYPE_CHECKING:
    from sqlalchemy import Executable
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

_UNSET_PURPOSE = "raw"


@keyed
async def list_own(request: Request, account: str) -> Response:
    """`GET /agents`: the account's agents by name, with counts of what belongs to them."""
    async with gate_of(request).database.read() as session:
        return JsonResponse({"agents": await agents_of(session, account)})


async def agents_of(session: AsyncSession, account: str) -> list[Json]:
    """Return the records of an account's agents, by name."""
    query = select(Agent).where(Agent.account_id == account).order_by(Agent.slug)
    agents = (await session.scalars(query)).all()
    return await _records(session, account, list(agents))


@keyed
async def register(request: Request, account: str) -> Response:
    """`POST /agents`: create or update by name; fields not sent survive."""
    body = await read_json(request)
    agent = fields.agent(body, "name")
    if agent is None:
        raise HTTPException(400, "name is required")
    description = fields.text(body, "description")
    system_prompt = fields.text(body, "system_prompt")
    tools = body.get("tools")
    if not isinstance(tools, list | None):
        raise HTTPException(400, "tools must be a list")
    async with gate_of(request).database.write() as session:
        record = await register_agent(session, account, *agent)
        if fields.sent(body, "description"):
            record.description = description
        if fields.sent(body, "system_prompt"):
            record.system_prompt = system_prompt
        if tools is not None:
            record.tools = jsonio.strict(tools)
        await session.flush()
        records = await _records(session, account, [record])
    return JsonResponse(records[0])


@keyed
async def delete(request: Request, account: str) -> Response:
    """`DELETE /agents/{slug}`: the record only; one that is not there is deleted already."""
    slug = fields.agent_slug(request.path_params["slug"])
    async with gate_of(request).database.write() as session:
        await session.execute(
            sql_delete(Agent).where(Agent.account_id == account, Agent.slug == slug)
        )
    return JsonResponse({"deleted": True, "agent": slug})


async def _records(session: AsyncSession, account: str, agents: list[Agent]) -> list[Json]:
    slugs = [agent.slug for agent in agents]
    mine = Dataset.account_id == account, Dataset.agent.in_(slugs)
    sets: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(fields.PURPOSES, 0))
    grouped = select(Dataset.agent, Dataset.purpose, func.count()).where(
        *mine, Dataset.status != FAILED
    )
    for slug, purpose, count in await session.execute(
        grouped.group_by(Dataset.agent, Dataset.purpose)
    ):
        sets[str(slug)][purpose or _UNSET_PURPOSE] = count
    public = await _counted(
        session,
        select(Dataset.agent, func.count())
        .where(*mine, Dataset.published_at.is_not(None))
        .group_by(Dataset.agent),
    )
    traces = await _counted(
        session,
        select(Part.agent, func.count())
        .join(Dataset, Dataset.number == Part.dataset_number)
        .where(Dataset.account_id == account, Part.trace_id.is_not(None), Part.agent.in_(slugs))
        .group_by(Part.agent),
    )
    return [
        agent_record(
            agent,
            traces=traces.get(agent.slug, 0),
            datasets=sets[agent.slug],
            public=public.get(agent.slug, 0),
        )
        for agent in agents
    ]


async def _counted(session: AsyncSession, query: Executable) -> dict[str, int]:
    return {row[0]: row[1] for row in await session.execute(query)}


routes = [
    Route("/agents", list_own, methods=["GET"]),
    Route("/agents", register, methods=["POST"]),
    Route("/agents/{slug}", delete, methods=["DELETE"]),
]
