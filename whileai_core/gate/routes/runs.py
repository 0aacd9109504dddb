"""Training runs as trainers report them: begun, logged, finished."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.gate import fields
from whileai_core.gate.database import now_ms
from whileai_core.gate.garbage import collect, note_unlinked
from whileai_core.gate.http import Json, JsonResponse, gate_of, idempotency_key, keyed, read_json
from whileai_core.gate.hubjobs import adapter_files
from whileai_core.gate.tables import Run, RunLog
from whileai_core.gate.views import adapter, run_row

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

RUNNING, FINISHED = "running", "finished"
_FACTS = ("dataset_id", "after_dataset_id", "base_model", "trainer", "total_steps", "config")
_SHOWN_LOGS = 100


@keyed
async def create(request: Request, account: str) -> Response:
    """`POST /runs`; the same Idempotency-Key gets the same run as long as it exists."""
    body = await read_json(request)
    key = idempotency_key(request)
    run = Run(
        id=f"run_{secrets.token_hex(12)}",
        account_id=account,
        name=fields.text(body, "name", limit=1000),
        facts=jsonio.strict({fact: body[fact] for fact in _FACTS if fields.sent(body, fact)}),
        status=RUNNING,
        created_at=now_ms(),
        idempotency_key=key,
    )
    try:
        async with gate_of(request).database.write() as session:
            session.add(run)
    except IntegrityError:  # the key was used before
        async with gate_of(request).database.read() as session:
            query = select(Run).where(Run.account_id == account, Run.idempotency_key == key)
            run = (await session.scalars(query)).one()
    return JsonResponse({"runId": run.id}, status_code=201)


@keyed
async def list_own(request: Request, account: str) -> Response:
    """`GET /runs`: the account's runs, newest first."""
    query = select(Run).where(Run.account_id == account).order_by(Run.number.desc())
    async with gate_of(request).database.read() as session:
        runs = [run_row(run) for run in await session.scalars(query)]
    return JsonResponse({"runs": runs})


@keyed
async def read(request: Request, account: str) -> Response:
    """`GET /runs/{id}`: with its latest log entries, oldest first."""
    async with gate_of(request).database.read() as session:
        run = await own_run(session, request, account)
        mine = RunLog.run_number == run.number
        latest = select(RunLog.entry).where(mine).order_by(RunLog.number.desc())
        entries = (await session.scalars(latest.limit(_SHOWN_LOGS))).all()
        logged = await session.scalar(select(func.count()).select_from(RunLog).where(mine))
        files = await adapter_files(session, run)
    shown = run_row(run) | {"logged": logged, "log": entries[::-1]}
    return JsonResponse(shown | ({"adapter": adapter(files)} if files else {}))


@keyed
async def delete(request: Request, account: str) -> Response:
    """`DELETE /runs/{id}`: with its log and its adapter."""
    gate = gate_of(request)
    async with gate.database.write() as session:
        run = await own_run(session, request, account, lock=True)
        files = await adapter_files(session, run)
        keys = [file.blob_key for file in files if file.blob_key is not None]
        await note_unlinked(session, keys)
        await session.delete(run)
    await collect(gate.database, gate.blobs, keys)
    return JsonResponse({"deleted": True, "runId": run.id})


@keyed
async def log(request: Request, account: str) -> Response:
    """`POST /runs/{id}/log`: keep one entry, whatever its fields are."""
    entry: Json = jsonio.strict(await read_json(request))
    async with gate_of(request).database.write() as session:
        run = await own_run(session, request, account, lock=True)
        session.add(RunLog(run_number=run.number, entry=entry, created_at=now_ms()))
    return JsonResponse({"runId": run.id})


@keyed
async def finish(request: Request, account: str) -> Response:
    """`POST /runs/{id}/finish`: what is said at the end is kept; repeatable."""
    body = await read_json(request)
    status = fields.text(body, "status", limit=32) or FINISHED
    async with gate_of(request).database.write() as session:
        run = await own_run(session, request, account, lock=True)
        run.status = status
        run.finished_at = run.finished_at or now_ms()
        if body:
            run.facts = run.facts | {"result": jsonio.strict(body)}
    return JsonResponse(run_row(run))


async def own_run(
    session: AsyncSession, request: Request, account: str, *, lock: bool = False
) -> Run:
    """Return the run a request is about.

    Raises:
        HTTPException: 404 when there is none, or it is somebody else's.
    """
    run_id = request.path_params["id"]
    query = select(Run).where(Run.id == run_id, Run.account_id == account)
    run = await session.scalar(query.with_for_update() if lock else query)
    if run is None:
        raise HTTPException(404, f"there is no run {run_id[:60]!r}")
    return run


routes = [
    Route("/runs", create, methods=["POST"]),
    Route("/runs", list_own, methods=["GET"]),
    Route("/runs/{id}", read, methods=["GET"]),
    Route("/runs/{id}", delete, methods=["DELETE"]),
    Route("/runs/{id}/log", log, methods=["POST"]),
    Route("/runs/{id}/finish", finish, methods=["POST"]),
]
