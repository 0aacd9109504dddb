"""Adapters of training runs: leave to upload their files, the files, publishing them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from whileai_core.errors import InputError
from whileai_core.gate import hubjobs
from whileai_core.gate.blobs import new_key
from whileai_core.gate.garbage import collect, note_linked, note_unlinked, note_writing
from whileai_core.gate.http import (
    Json,
    JsonResponse,
    absolute,
    check_declared_length,
    gate_of,
    keyed,
    read_json,
)
from whileai_core.gate.incoming import receive_blob
from whileai_core.gate.routes.hub import begin, read_target, require_account
from whileai_core.gate.routes.runs import own_run
from whileai_core.gate.tables import Run, RunFile
from whileai_core.hub.adapter import checked_path
from whileai_core.hub.targets import repo_name

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request

_TOKEN = "adapter"  # noqa: S105  the use the token is for
_MOST_FILES = 200


@keyed
async def grant(request: Request, account: str) -> Response:
    """`POST /runs/{id}/adapter`: announce the files of the adapter, get an address for each.

    A list of files replaces the one before; files that are in both keep what was uploaded.
    """
    paths = _paths(await read_json(request))
    gate = gate_of(request)
    async with gate.database.write() as session:
        run = await own_run(session, request, account, lock=True)
        known = {file.path: file for file in await hubjobs.adapter_files(session, run)}
        dropped = [file for path, file in known.items() if path not in paths]
        keys = [file.blob_key for file in dropped if file.blob_key is not None]
        await note_unlinked(session, keys)
        for file in dropped:
            await session.delete(file)
        added = {path: RunFile(run_number=run.number, path=path, size_bytes=0) for path in paths}
        files = added | {path: file for path, file in known.items() if path in paths}
        session.add_all(files.values())
    await collect(gate.database, gate.blobs, keys)
    expires_at = int(time.time()) + gate.settings.url_seconds
    urls = [
        {"path": path, "uploadUrl": _url(request, files[path], expires_at)}
        for path in sorted(files)
    ]
    answer: Json = {"runId": run.id, "files": urls, "expiresIn": gate.settings.url_seconds}
    return JsonResponse(answer, status_code=201)


def _paths(body: Json) -> set[str]:
    listed = body.get("files")
    if not isinstance(listed, list) or not listed or not all(isinstance(p, str) for p in listed):
        raise HTTPException(400, "files must be a list of paths")
    if len(listed) > _MOST_FILES:
        raise HTTPException(400, f"an adapter has at most {_MOST_FILES} files")
    try:
        return {checked_path(path) for path in listed}
    except InputError as error:
        raise HTTPException(400, str(error)) from None


def _url(request: Request, file: RunFile, expires_at: int) -> str:
    token = gate_of(request).signer.token(_TOKEN, str(file.number), expires_at)
    return absolute(request, f"/adapters/{token}")


async def upload(request: Request) -> Response:
    """`PUT /adapters/{token}`: the bytes of one file; repeatable."""
    gate = gate_of(request)
    number = gate.signer.subject(_TOKEN, request.path_params["token"])
    if number is None:
        raise HTTPException(403, "this address is forged or has expired; ask for a new one")
    check_declared_length(request, gate.settings.max_upload_bytes)
    key = new_key()
    async with gate.database.write() as session:
        await _file(session, number)
        await note_writing(session, key)
    try:
        blob = await receive_blob(gate, key, request.stream(), rows=False)
    except BaseException:
        await collect(gate.database, gate.blobs, [key])
        raise
    try:
        async with gate.database.write() as session:
            file = await _file(session, number)
            if not await note_linked(session, key):
                raise HTTPException(408, "the upload took too long and was given up; start again")
            replaced = [file.blob_key] if file.blob_key is not None else []
            await note_unlinked(session, replaced)
            file.blob_key, file.size_bytes, file.sha256 = key, blob.size, blob.sha256
    except HTTPException:
        await collect(gate.database, gate.blobs, [key])
        raise
    await collect(gate.database, gate.blobs, replaced)
    return Response()


async def _file(session: AsyncSession, number: str) -> RunFile:
    query = select(RunFile).where(RunFile.number == int(number)).with_for_update()
    file = await session.scalar(query)
    if file is None:
        raise HTTPException(404, "the run of this file was deleted, or its adapter has others now")
    return file


@keyed
async def publish(request: Request, account: str) -> Response:
    """`POST /runs/{id}/hf-publish`: begin, or join what is under way with the same target."""
    target = await read_target(request, private=True)
    async with gate_of(request).database.write() as session:
        run = await own_run(session, request, account, lock=True)
        files = await hubjobs.adapter_files(session, run)
        if not files:
            raise HTTPException(409, f"run {run.id} has no adapter to publish")
        missing = [file.path for file in files if file.blob_key is None]
        if missing:
            raise HTTPException(409, f"{missing[0]} of run {run.id} was never uploaded")
        require_account()
        if target["repo"] is None:
            target |= _usual_target(run, target["namespace"])
        payload = {"account": account, "id": run.id} | target
        about = {"tag": f"zp-{run.id}"}
        run.hf = await begin(session, hubjobs.PUBLISH_RUN, payload, about, now=run.hf)
    request.app.state.on_hub_job()
    return JsonResponse({"runId": run.id, "hf": run.hf}, status_code=202)


def _usual_target(run: Run, namespace: str | None) -> Json:
    """Name the repository of a run: where it is, else its name."""
    if run.hf is not None and run.hf["status"] != hubjobs.ERROR:
        where, _, name = str(run.hf["repo"]).rpartition("/")
        return {"namespace": namespace or where or None, "repo": name}
    return {"namespace": namespace, "repo": repo_name(run.name or run.id)}


routes = [
    Route("/runs/{id}/adapter", grant, methods=["POST"]),
    Route("/adapters/{token}", upload, methods=["PUT"]),
    Route("/runs/{id}/hf-publish", publish, methods=["POST"]),
]
