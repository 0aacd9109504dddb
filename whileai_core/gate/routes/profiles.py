"""What a dataset holds in numbers: the profile, kept with its data, and the preview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.gate.http import JsonResponse, gate_of, keyed
from whileai_core.gate.jsonl import read_line
from whileai_core.gate.store import own_dataset, parts_of
from whileai_core.quality import Preview, Profile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from whileai_core.gate.blobs import BlobStore


@keyed
async def profile(request: Request, account: str) -> Response:
    """`GET /datasets/{id}/profile`; `?force=1` computes it anew."""
    gate = gate_of(request)
    dataset_id = request.path_params["id"]
    async with gate.database.read() as session:
        dataset = await own_dataset(session, account, dataset_id)
        keys = [part.blob_key for part in await parts_of(session, dataset)]
    forced = request.query_params.get("force", "") not in ("", "0")
    if dataset.profile is not None and not forced:
        return JsonResponse({"profile": dataset.profile})
    result = await anyio.to_thread.run_sync(_folded, Profile(), gate.blobs, keys)
    async with gate.database.write() as session:
        dataset = await own_dataset(session, account, dataset_id, lock=True)
        if keys == [part.blob_key for part in await parts_of(session, dataset)]:
            dataset.profile = result
    return JsonResponse({"profile": result})


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


def _folded(fold: Profile | Preview, blobs: BlobStore, keys: Sequence[str]) -> dict[str, Any]:
    """Fold the rows of a dataset one at a time; only what the fold keeps is held."""
    for key in keys:
        with blobs.open(key) as file:
            for line in file:
                if line.strip():
                    fold.add(read_line(line.strip()))
    # Names and samples come out of the data and may hold what a database or reply refuses.
    clean: dict[str, Any] = jsonio.strict(dict(fold.result()))
    return clean


routes = [
    Route("/datasets/{id}/profile", profile, methods=["GET"]),
    Route("/datasets/{id}/preview", preview, methods=["GET"]),
]
