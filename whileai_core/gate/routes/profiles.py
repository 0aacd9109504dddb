"""What a dataset holds in numbers: the profile, kept with its data, and the preview."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.gate.http import Json, JsonResponse, gate_of, keyed
from whileai_core.gate.jsonl import read_line
from whileai_core.gate.store import own_dataset, parts_of
from whileai_core.gate.tables import Dataset, Part
from whileai_core.quality import Preview, Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncSession
    from starlette.requests import Request
    from starlette.responses import Response

    from whileai_core.gate.blobs import BlobStore
    from whileai_core.gate.state import Gate


@keyed
async def profile(request: Request, account: str) -> Response:
    """`GET /datasets/{id}/profile`; `?force=1` computes it anew."""
    dataset_id = request.path_params["id"]
    forced = request.query_params.get("force", "") not in ("", "0")
    async with gate_of(request).database.read() as session:
        dataset = await own_dataset(session, account, dataset_id)
        parts = await parts_of(session, dataset)
    found = await profile_of(gate_of(request), dataset, parts, forced=forced)
    return JsonResponse({"profile": found})


@keyed
async def preview(request: Request, account: str) -> Response:
    """`GET /datasets/{id}/preview`: three sample rows and the analyzer report."""
    gate = gate_of(request)
    async with gate.database.read() as session:
        dataset = await own_dataset(session, account, request.path_params["id"])
        parts = await parts_of(session, dataset)
    fold = Preview(dataset.rows, mode=dataset.mode)
    keys = [part.blob_key for part in parts if part.rows]
    found = await anyio.to_thread.run_sync(_folded, fold, gate.blobs, keys)
    report = found["report"] | {"sizeBytes": dataset.size_bytes, "parts": len(parts)}
    return JsonResponse({"datasetId": dataset.id, "rows": found["rows"], "report": report})


async def profile_of(
    gate: Gate, dataset: Dataset, parts: Sequence[Part], *, forced: bool = False
) -> Json:
    """Return a dataset's profile: the one kept with its data, or one computed and kept now."""
    if dataset.profile is not None and not forced:
        return dataset.profile
    keys = [part.blob_key for part in parts]
    result = await anyio.to_thread.run_sync(_folded, Profile(), gate.blobs, keys)
    async with gate.database.write() as session:
        current = await session.get(Dataset, dataset.number, with_for_update=True)
        if current is not None and keys == await _keys(session, current):
            current.profile = result
    return result


async def _keys(session: AsyncSession, dataset: Dataset) -> list[str]:
    return [part.blob_key for part in await parts_of(session, dataset)]


def _folded(fold: Profile | Preview, blobs: BlobStore, keys: Sequence[str]) -> Json:
    """Fold the rows of a dataset one at a time; only what the fold keeps is held."""
    for key in keys:
        with blobs.open(key) as file:
            for line in file:
                if line.strip():
                    fold.add(read_line(line.strip()))
    # Names and samples come out of the data and may hold what a database or reply refuses.
    clean: Json = jsonio.strict(dict(fold.result()))
    return clean


routes = [
    Route("/datasets/{id}/profile", profile, methods=["GET"]),
    Route("/datasets/{id}/preview", preview, methods=["GET"]),
]
