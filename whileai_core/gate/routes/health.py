"""Whether the gate can work, how much it did, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from whileai_core.gate.http import JsonResponse, gate_of, key_of, keyed, read_json
from whileai_core.gate.openapi import description
from whileai_core.gate.permits import digest
from whileai_core.gate.tables import Account, Credential
from whileai_core.gate.views import timestamp
from whileai_core.version import __version__

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


_PROMETHEUS = "text/plain; version=0.0.4"


async def health(request: Request) -> Response:
    """`GET /healthz`: 200 while the database answers."""
    async with gate_of(request).database.read() as session:
        await session.execute(text("SELECT 1"))
    return JsonResponse({"status": "ok", "version": __version__})


@keyed
async def me(request: Request, account: str) -> Response:
    """`GET /me`: the account behind the key."""
    async with gate_of(request).database.read() as session:
        owner = await session.get_one(Account, account)
        credential = await session.get_one(Credential, digest(key_of(request)))
    return JsonResponse(
        {
            "user_id": account,
            "name": owner.name,
            "email": None,
            "tier": None,
            "daily_input_tokens": None,
            "created_at": timestamp(owner.created_at),
            "expires_at": timestamp(credential.expires_at),
        }
    )


@keyed
async def usage(request: Request, _account: str) -> Response:
    """`POST /usage`: taken, since clients send it; this gate meters nothing."""
    await read_json(request)
    return JsonResponse({"metered": False})


async def openapi(_request: Request) -> Response:
    """`GET /openapi.json`: what this gate can be asked."""
    return JsonResponse(description())


async def metrics(request: Request) -> Response:
    """`GET /metrics`: counters of this process for Prometheus."""
    return PlainTextResponse(request.app.state.metrics.text(), media_type=_PROMETHEUS)


routes = [
    Route("/healthz", health, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
    Route("/openapi.json", openapi, methods=["GET"]),
    Route("/usage", usage, methods=["POST"]),
    Route("/me", me, methods=["GET"]),
]
