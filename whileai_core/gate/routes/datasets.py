"""Datasets as their owner handles them: create, finalize, list, read, change, delete."""

from __future__ import annotations

import hashlib
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
from whileai_core.gate.routes.transfers import upload_url
from whileai_core.gate.spans import delete_spans
from whileai_core.gate.store import (
    FAILED,
    PENDING,
    READY,
    delete_dataset,
    find_earlier,
    lock_account,
    own_dataset,
    register_agent,
)
from whileai_core.gate.tables import Dataset, Part, SpanRecord, Upload
from whileai_core.gate.views import dataset_row

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response


@keyed
async def create(request: Request, account: str) -> Response:
    """`POST /datasets`; the same Idempotency-Key gets the same dataset as long as it exists."""
    body = await read_json(request)
    key = idempotency_key(request)
    try:
        dataset = await _create_or_find(request, account, body, key)
    except IntegrityError:  # the same key twice at the same moment: now the other one is there
        dataset = await _create_or_find(request, account, body, key)
    answer = {"datasetId": dataset.id, "uploadUrl": upload_url(request, dataset)}
    return JsonResponse(answer, status_code=201)


async def _create_or_find(request: Request, account: str, body: Json, key: str | None) -> Dataset:
    dataset = Dataset(
        id=f"ds_{secrets.token_hex(12)}",
        account_id=account,
        name=fields.name(body),
        purpose=fields.choice(body, "purpose", fields.PURPOSES),
        mode=fields.choice(body, "mode", fields.MODES),
        description=fields.text(body, "description"),
        parent_id=fields.text(body, "parentDatasetId"),
        status=PENDING,
        created_at=now_ms(),
        idempotency_key=key,
        request_digest=hashlib.sha256(jsonio.canonical(body)).hexdigest() if key else None,
    )
    agent = fields.agent(body)
    async with gate_of(request).database.write() as session:
        if key is not None:
            earlier = await find_earlier(session, dataset)
            if earlier is not None:
                return earlier
        if dataset.parent_id is not None:
            await own_dataset(session, account, dataset.parent_id)
        if agent is not None:
            dataset.agent = (await register_agent(session, account, *agent)).slug
        session.add(dataset)
    return dataset


@keyed
async def finalize(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/finalize`: make the latest upload the data; repeatable.

    `sizeBytes` and `sha256` in the body, when sent, must be those of the uploaded bytes.
    """
    body = await read_json(request)
    gate = gate_of(request)
    async with gate.database.write() as session:
        dataset = await own_dataset(session, account, request.path_params["id"], lock=True)
        upload = await session.get(Upload, dataset.number)
        data = upload or await _only_part(session, dataset)
        if data is None:
            raise HTTPException(409, f"nothing was uploaded to dataset {dataset.id} yet")
        _verify(body, data)
        problem = upload.problem if upload else None
        unlinked: list[str] = []
        if problem is not None and dataset.status == PENDING:
            dataset.status = FAILED
        elif problem is None and upload is not None:
            unlinked = await _take_over(session, dataset, upload)
    if problem is not None:
        raise HTTPException(422, problem)
    await collect(gate.database, gate.blobs, unlinked)
    return JsonResponse(dataset_row(dataset) | {"sha256": data.sha256})


async def _only_part(session: AsyncSession, dataset: Dataset) -> Part | None:
    return await session.scalar(select(Part).where(Part.dataset_number == dataset.number).limit(1))


def _verify(body: Json, data: Upload | Part) -> None:
    size = fields.whole_number(body, "sizeBytes")
    if size is not None and size != data.size_bytes:
        raise HTTPException(409, f"{data.size_bytes} bytes arrived, {size} were sent; upload again")
    sha256 = fields.text(body, "sha256")
    if sha256 is not None and sha256.lower() != data.sha256:
        raise HTTPException(409, "the bytes that arrived have another sha256; upload again")


async def _take_over(session: AsyncSession, dataset: Dataset, upload: Upload) -> list[str]:
    """Replace the parts by the upload; return the blobs that became garbage."""
    old = await session.scalars(select(Part).where(Part.dataset_number == dataset.number))
    unlinked = []
    for part in old:
        unlinked.append(part.blob_key)
        await session.delete(part)
    await note_unlinked(session, unlinked)
    await session.delete(upload)
    await session.flush()  # the old first part goes before the new one comes
    session.add(
        Part(
            dataset_number=dataset.number,
            number=1,
            blob_key=upload.blob_key,
            size_bytes=upload.size_bytes,
            sha256=upload.sha256,
            rows=upload.rows,
        )
    )
    dataset.status = READY
    dataset.profile = None
    dataset.rows = upload.rows
    dataset.size_bytes = upload.size_bytes
    return unlinked


@keyed
async def list_own(request: Request, account: str) -> Response:
    """`GET /datasets`: the account's datasets, newest first."""
    mine = Dataset.account_id == account
    async with gate_of(request).database.read() as session:
        datasets = await session.scalars(
            select(Dataset).where(mine).order_by(Dataset.number.desc())
        )
        rows = [dataset_row(dataset) for dataset in datasets]
        used = await session.scalar(select(func.sum(Dataset.size_bytes)).where(mine))
    return JsonResponse({"datasets": rows, "usedBytes": int(used or 0)})


@keyed
async def read(request: Request, account: str) -> Response:
    """`GET /datasets/{id}`."""
    async with gate_of(request).database.read() as session:
        dataset = await own_dataset(session, account, request.path_params["id"])
    return JsonResponse(dataset_row(dataset))


@keyed
async def change(request: Request, account: str) -> Response:
    """`POST /datasets/{id}/meta`: only what was sent changes; an empty string clears."""
    body = await read_json(request)
    purpose = fields.choice(body, "purpose", fields.PURPOSES)
    mode = fields.choice(body, "mode", fields.MODES)
    description = fields.text(body, "description")
    agent = fields.agent(body)
    async with gate_of(request).database.write() as session:
        dataset = await own_dataset(session, account, request.path_params["id"], lock=True)
        if fields.sent(body, "purpose"):
            dataset.purpose = purpose
        if fields.sent(body, "mode"):
            dataset.mode = mode
        if fields.sent(body, "description"):
            dataset.description = description
        if fields.sent(body, "agent"):
            record = await register_agent(session, account, *agent) if agent else None
            dataset.agent = record.slug if record else None
    return JsonResponse(dataset_row(dataset))


@keyed
async def delete(request: Request, account: str) -> Response:
    """`DELETE /datasets/{id}`: with its data, also from the catalog."""
    gate = gate_of(request)
    dataset_id = request.path_params["id"]
    async with gate.database.write() as session:
        await lock_account(session, account)
        dataset = await own_dataset(session, account, dataset_id, lock=True)
        traces = select(Part.trace_id).where(Part.dataset_number == dataset.number)
        await delete_spans(session, account, SpanRecord.trace_id.in_(traces))
        keys = await delete_dataset(session, dataset)
    await collect(gate.database, gate.blobs, keys)
    return JsonResponse({"deleted": True, "datasetId": dataset_id})


routes = [
    Route("/datasets", create, methods=["POST"]),
    Route("/datasets", list_own, methods=["GET"]),
    Route("/datasets/{id}", read, methods=["GET"]),
    Route("/datasets/{id}", delete, methods=["DELETE"]),
    Route("/datasets/{id}/finalize", finalize, methods=["POST"]),
    Route("/datasets/{id}/meta", change, methods=["POST"]),
]
