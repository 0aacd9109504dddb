"""Whether the gate can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text
from starlette.routing import Route

from whileai_core import __version__
from whileai_core.gate.http import JsonResponse, gate_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


async def health(request: Request) -> Response:
    """`GET /healthz`: 200 while the database answers."""
    async with gate_of(request).database.read() as session:
        await session.execute(text("SELECT 1"))
    return JsonResponse({"status": "ok", "version": __version__})


routes = [Route("/healthz", health, methods=["GET"])]
