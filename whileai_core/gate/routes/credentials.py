"""Delegated credentials: short-lived, made and withdrawn with a session token.

A session token is made with `gate session create`; an account's static key, sent as a bearer
token, is as good. A delegated credential is none: it cannot make others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core.gate import fields, permits
from whileai_core.gate.accounts import DELEGATED, SESSIONS
from whileai_core.gate.database import now_ms
from whileai_core.gate.http import (
    Json,
    JsonResponse,
    gate_of,
    idempotency_key,
    identify,
    read_json,
    unauthorized,
)
from whileai_core.gate.tables import Credential
from whileai_core.gate.views import timestamp

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

_DEFAULT_NAME = "sdk-default"
_DEFAULT_LIFE = 3600
_LONGEST_LIFE = 30 * 24 * 3600


async def issue(request: Request) -> Response:
    """`POST /auth/issue-credential`: a new one with every call or every Idempotency-Key."""
    account = await _bearer(request)
    body = await read_json(request)
    life = _life(body)
    repeatable = idempotency_key(request)
    key = (
        gate_of(request).signer.credential(account, repeatable)
        if repeatable
        else permits.new_key(permits.DELEGATED_PREFIX)
    )
    now = now_ms()
    record = Credential(
        digest=permits.digest(key),
        account_id=account,
        kind=DELEGATED,
        name=fields.text(body, "name", limit=200) or _DEFAULT_NAME,
        created_at=now,
        expires_at=now + life * 1000,
    )
    async with gate_of(request).database.write() as session:
        earlier = await session.get(Credential, record.digest)
        if earlier is None:
            session.add(record)
    if earlier is not None and not _lives(earlier):
        raise HTTPException(409, "the credential of this Idempotency-Key is revoked or expired")
    return JsonResponse(_view(earlier or record, key))


async def refresh(request: Request) -> Response:
    """`POST /auth/refresh-credential`: the same credential lives on from now."""
    account = await _bearer(request)
    body = await read_json(request)
    life = _life(body)
    async with gate_of(request).database.write() as session:
        record, key = await _own(session, account, body)
        record.expires_at = now_ms() + life * 1000
    return JsonResponse(_view(record, key))


async def revoke(request: Request) -> Response:
    """`POST /auth/revoke-credential`: it stops working at once."""
    account = await _bearer(request)
    body = await read_json(request)
    async with gate_of(request).database.write() as session:
        record, _ = await _own(session, account, body)
        record.expires_at = 0  # kept, so that its Idempotency-Key does not revive it
    return JsonResponse({"revoked": True})


async def _bearer(request: Request) -> str:
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    token = token.strip()
    account = None
    if scheme.lower() == "bearer" and token:
        account = await identify(request, token, SESSIONS)
    if account is None:
        raise unauthorized(request, "a valid session token is needed as Authorization: Bearer")
    return account


async def _own(session: AsyncSession, account: str, body: Json) -> tuple[Credential, str]:
    key = fields.text(body, "credential")
    if key is None:
        raise HTTPException(400, "credential is required")
    record = await session.scalar(
        select(Credential)
        .where(
            Credential.digest == permits.digest(key),
            Credential.account_id == account,
            Credential.kind == DELEGATED,
            Credential.expires_at > now_ms(),
        )
        .with_for_update()
    )
    if record is None:
        raise HTTPException(404, "the credential is unknown, revoked or expired; issue a new one")
    return record, key


def _life(body: Json) -> int:
    life = fields.whole_number(body, "ttlSeconds")
    if life is None:
        return _DEFAULT_LIFE
    if life < 1:
        raise HTTPException(400, "ttlSeconds must be at least 1")
    return min(life, _LONGEST_LIFE)


def _lives(record: Credential) -> bool:
    return record.expires_at is not None and record.expires_at > now_ms()


def _view(record: Credential, key: str) -> Json:
    left = (record.expires_at or 0) - now_ms()
    return {
        "credential": key,
        "name": record.name,
        "ttlSeconds": max(1, round(left / 1000)),
        "expiresAt": timestamp(record.expires_at),
    }


routes = [
    Route("/auth/issue-credential", issue, methods=["POST"]),
    Route("/auth/refresh-credential", refresh, methods=["POST"]),
    Route("/auth/revoke-credential", revoke, methods=["POST"]),
]
