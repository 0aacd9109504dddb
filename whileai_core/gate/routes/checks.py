"""`POST /check`: the publish gate over rows or a dataset, with a verdict for machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.exceptions import HTTPException
from starlette.routing import Route

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.gate import fields
from whileai_core.gate.http import Json, JsonResponse, gate_of, keyed, read_json
from whileai_core.gate.jsonl import read_line
from whileai_core.gate.store import own_dataset, parts_of
from whileai_core.quality import publish_gate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from whileai_core.gate.blobs import BlobStore

_OPTIONS = ("mode", "band", "policy", "model", "endorsed", "strict_hacks", "holdout")


@keyed
async def check(request: Request, account: str) -> Response:
    """`POST /check`: `rows`, or the `datasetId` of an own set, and the options of the gate.

    A refusal is an answer like any other (200): `ok` is false and `code` says why.
    """
    gate = gate_of(request)
    body = await read_json(request, limit=gate.settings.max_check_bytes)
    options = _options(body)
    dataset_id, rows = fields.text(body, "datasetId"), body.get("rows")
    if (dataset_id is None) == (rows is None):
        raise HTTPException(400, "send either rows, or datasetId of a dataset to check")
    keys: Sequence[str] = ()
    if dataset_id is not None:
        keys = await _blobs_of(request, account, dataset_id)
    elif not isinstance(rows, list):
        raise HTTPException(400, "rows must be a list of JSON objects")

    def judge() -> Json:
        return _verdict(_read(gate.blobs, keys) if rows is None else rows, options)

    # All rows are held at once: one such check at a time.
    verdict = await anyio.to_thread.run_sync(judge, limiter=gate.checks)
    return JsonResponse({"datasetId": dataset_id} | verdict)


async def _blobs_of(request: Request, account: str, dataset_id: str) -> Sequence[str]:
    gate = gate_of(request)
    async with gate.database.read() as session:
        dataset = await own_dataset(session, account, dataset_id)
        keys = [part.blob_key for part in await parts_of(session, dataset)]
    if dataset.size_bytes > gate.settings.max_check_bytes:
        raise HTTPException(
            413,
            f"dataset {dataset.id} has {dataset.size_bytes} bytes, at most "
            f"{gate.settings.max_check_bytes} are checked here; pull it and run "
            "`whileai-pipelines check`",
        )
    return keys


def _options(body: Json) -> Json:
    """Return the options that were sent.

    Raises:
        HTTPException: 400 when one is unknown or of the wrong type.
    """
    unknown = sorted(body.keys() - {"rows", "datasetId", *_OPTIONS})
    if unknown:
        raise HTTPException(400, f"unknown {', '.join(unknown)}; known are {', '.join(_OPTIONS)}")
    fields.choice(body, "mode", fields.MODES)
    for name in ("policy", "model"):
        fields.text(body, name)
    endorsed, holdout = body.get("endorsed"), body.get("holdout")
    if not isinstance(endorsed, list | None) or not all(isinstance(e, str) for e in endorsed or ()):
        raise HTTPException(400, "endorsed must be a list of names of features")
    if not isinstance(body.get("strict_hacks"), bool | None):
        raise HTTPException(400, "strict_hacks must be true or false")
    if not isinstance(holdout, int | float | None):
        raise HTTPException(400, "holdout must be a fraction above 0 and below 1")
    return {name: body[name] for name in _OPTIONS if fields.sent(body, name)}


def _read(blobs: BlobStore, keys: Sequence[str]) -> list[Any]:
    rows = []
    for key in keys:
        with blobs.open(key) as file:
            rows += [read_line(line.strip()) for line in file if line.strip()]
    return rows


def _verdict(rows: list[Any], options: Json) -> Json:
    """Return what the gate says; no rows at all are nothing to train on, whatever they are for."""
    try:
        report: Json = jsonio.strict(publish_gate(rows, strict=False, **options).to_dict())
    except InputError as error:
        raise HTTPException(400, str(error)) from None
    refusal = report["refusal"] or (None if rows else "no_rows: there is no row to train on")
    return {
        "ok": refusal is None,
        "code": refusal.partition(":")[0] if refusal else None,
        "refusal": refusal,
        "warnings": report["warnings"],
        "rows": len(rows),
        "report": report,
    }


routes = [Route("/check", check, methods=["POST"])]
