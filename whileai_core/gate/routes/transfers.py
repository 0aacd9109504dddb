"""Bytes in and out: presigned upload, download grants, presigned parts."""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, BinaryIO

import anyio.to_thread
from sqlalchemy import select
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from whileai_core.gate import permits
from whileai_core.gate.blobs import new_key
from whileai_core.gate.garbage import collect, note_linked, note_unlinked, note_writing
from whileai_core.gate.http import (
    Json,
    JsonResponse,
    absolute,
    check_declared_length,
    gate_of,
    keyed,
)
from whileai_core.gate.incoming import StoredBlob, receive_blob
from whileai_core.gate.store import IMPORTING, own_dataset, parts_of
from whileai_core.gate.tables import Dataset, Part, Upload

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request

_UPLOAD, _PART = "upload", "part"
_EMPTY = "empty"  # stands for the part of a set without any; clients expect one
_JSONL = "application/jsonl"
_CHUNK = 1024 * 1024


def upload_url(request: Request, dataset: Dataset) -> str:
    """Return the presigned address that takes a dataset's bytes."""
    gate = gate_of(request)
    expires_at = permits.expiry(dataset.created_at // 1000, gate.settings.url_seconds)
    return absolute(request, f"/upload/{gate.signer.token(_UPLOAD, dataset.id, expires_at)}")


async def upload(request: Request) -> Response:
    """`PUT /upload/{token}`: stage the bytes; a repeated upload replaces the one before."""
    gate = gate_of(request)
    dataset_id = _permitted(request, _UPLOAD)
    check_declared_length(request, gate.settings.max_upload_bytes)
    key = new_key()
    async with gate.database.write() as session:
        await _uploadable(session, dataset_id)
        await note_writing(session, key)
    try:
        blob = await receive_blob(gate, key, request.stream())
    except BaseException:
        await collect(gate.database, gate.blobs, [key])
        raise
    try:
        async with gate.database.write() as session:
            dataset = await _uploadable(session, dataset_id)
            garbage = await _link(session, dataset, blob)
    except HTTPException:
        await collect(gate.database, gate.blobs, [key])
        raise
    # Any other failure may have come after the commit: the note decides, later.
    await collect(gate.database, gate.blobs, garbage)
    return Response()


async def _uploadable(session: AsyncSession, dataset_id: str) -> Dataset:
    query = select(Dataset).where(Dataset.id == dataset_id).with_for_update()
    dataset = await session.scalar(query)
    if dataset is None:
        raise HTTPException(404, "the dataset of this upload was deleted")
    if dataset.status == IMPORTING:
        raise HTTPException(409, f"dataset {dataset.id} is being imported; it takes no upload")
    return dataset


async def _link(session: AsyncSession, dataset: Dataset, blob: StoredBlob) -> list[str]:
    """Stage a blob for finalize; return what it replaces, noted as garbage."""
    if not await note_linked(session, blob.key):
        raise HTTPException(408, "the upload took too long and was given up; start again")
    staged = await session.get(Upload, dataset.number)
    replaced = [staged.blob_key] if staged else []
    await note_unlinked(session, replaced)
    await session.merge(
        Upload(
            dataset_number=dataset.number,
            blob_key=blob.key,
            size_bytes=blob.size,
            sha256=blob.sha256,
            rows=blob.rows,
            problem=blob.problem,
        )
    )
    return replaced


def _permitted(request: Request, kind: str) -> str:
    subject = gate_of(request).signer.subject(kind, request.path_params["token"])
    if subject is None:
        raise HTTPException(403, "this address is forged or has expired; ask for a new one")
    return subject


@keyed
async def download(request: Request, account: str) -> Response:
    """`GET /datasets/{id}/download`: presigned addresses of all parts."""
    async with gate_of(request).database.read() as session:
        dataset = await own_dataset(session, account, request.path_params["id"])
        parts = await parts_of(session, dataset)
    return JsonResponse(grant(request, dataset, parts))


def grant(request: Request, dataset: Dataset, parts: Sequence[Part]) -> Json:
    """Return the addresses under which a dataset's parts can be fetched for a while."""
    gate = gate_of(request)
    life = gate.settings.url_seconds
    expires_at = int(time.time()) + life
    keys = [part.blob_key for part in parts] or [_EMPTY]
    urls = [
        absolute(request, f"/parts/{gate.signer.token(_PART, key, expires_at)}") for key in keys
    ]
    return {
        "datasetId": dataset.id,
        "parts": urls,
        "downloadUrl": urls[0],
        "expiresIn": life,
        "partSizes": [part.size_bytes for part in parts] or [0],
        "partSha256": [part.sha256 for part in parts] or [hashlib.sha256().hexdigest()],
    }


async def part(request: Request) -> Response:
    """`GET /parts/{token}`: the bytes of one part, exactly as they were uploaded."""
    gate = gate_of(request)
    key = _permitted(request, _PART)
    if key == _EMPTY:
        return Response(media_type=_JSONL)
    async with gate.database.read() as session:
        found = await session.scalar(select(Part).where(Part.blob_key == key))
    if found is None:
        raise HTTPException(404, "the data of this address was deleted or replaced")
    try:
        file = await anyio.to_thread.run_sync(gate.blobs.open, key)
    except FileNotFoundError:
        raise HTTPException(404, "the data of this address was deleted or replaced") from None
    return StreamingResponse(
        _chunks(file),
        media_type=_JSONL,
        headers={"Content-Length": str(found.size_bytes), "ETag": f'"{found.sha256}"'},
    )


async def _chunks(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while chunk := await anyio.to_thread.run_sync(file.read, _CHUNK):
            yield chunk


routes = [
    Route("/upload/{token}", upload, methods=["PUT"]),
    Route("/parts/{token}", part, methods=["GET"]),
    Route("/datasets/{id}/download", download, methods=["GET"]),
]
