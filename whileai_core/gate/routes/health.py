"""Whether the gate can work, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, text
from starlette.routing import Route

from whileai_core import __version__
from whileai_core.gate.http import JsonResponse, gate_of, keyed
from whileai_core.gate.tables import Account

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def health(request: Request) -> Response:
    """`GET /healthz`: 200 while the database answers."""
    async with gate_of(request).database.read() as session:
        await session.execute(text("SELECT 1"))
    return JsonResponse({"status": "ok", "version": __version__})


@keyed
async def me(request: Request, account: str) -> Response:
    """`GET /me`: the account behind the key."""
    async with gate_of(request).database.read() as session:
        name = await session.scalar(select(Account.name).where(Account.id == account))
    return JsonResponse({"user_id": account, "name": name})


routes = [
    Route("/healthz", health, methods=["GET"]),
    Route("/me", me, methods=["GET"]),
]
