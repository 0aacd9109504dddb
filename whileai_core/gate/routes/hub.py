"""Hugging Face: this gate has no account connected, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core.gate.http import JsonResponse, gate_of, keyed
from whileai_core.gate.store import own_dataset

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

_REASON = "no Hugging Face account is connected to this gate"


@keyed
async def status(_request: Request, _account: str) -> Response:
    """`GET /hf/me`."""
    return JsonResponse({"connected": False, "username": None, "namespaces": [], "scopes": []})


@keyed
async def publish(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/hf-publish`."""
    async with gate_of(request).database.read() as session:
        await own_dataset(session, account, request.path_params["id"])
    raise HTTPException(409, _REASON)


@keyed
async def take_in(_request: Request, _account: str) -> Response:
    """`POST /datasets/import-hf`."""
    raise HTTPException(409, _REASON)


routes = [
    Route("/hf/me", status, methods=["GET"]),
    Route("/datasets/import-hf", take_in, methods=["POST"]),
    Route("/datasets/{id}/hf-publish", publish, methods=["POST"]),
]
