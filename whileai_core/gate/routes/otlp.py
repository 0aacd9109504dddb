"""`POST /v1/traces`: spans straight from OpenTelemetry exporters (OTLP/HTTP)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread
from sqlalchemy import select
from starlette.responses import Response
from starlette.routing import Route

from whileai_core.gate import jobs
from whileai_core.gate.deliveries import (
    PROTOBUF,
    Delivery,
    media_type,
    read_delivery,
    unpacked,
)
from whileai_core.gate.http import Json, JsonResponse, gate_of, keyed, read_body
from whileai_core.gate.remake import note_remake, remake
from whileai_core.gate.spans import add_spans, batches
from whileai_core.gate.store import lock_account
from whileai_core.gate.tables import Dataset, Part

if TYPE_CHECKING:
    from starlette.requests import Request

    from whileai_core.gate.state import Gate

_ACCEPTED = 202
_NO_CONTENT = "of a trace without conversation content (prompts, replies, tool calls)"


@keyed
async def take_in(request: Request, account: str) -> Response:
    """`POST /v1/traces`: 202 once the spans are safe and their traces' parts are made.

    Spans that were here before change nothing; spans that join a trace make its part anew.
    """
    gate = gate_of(request)
    limit = gate.settings.max_traces_bytes
    media = media_type(request.headers.get("content-type", ""))
    encoding = request.headers.get("content-encoding", "")
    body = await read_body(request, limit)
    delivery = await anyio.to_thread.run_sync(_read, body, encoding, limit, media)
    made = await _keep(gate, account, delivery)
    parts = await _parts(gate, account, delivery)
    if made:  # else the job is still to be done, and nothing is known yet
        _reject_without_content(delivery, parts)
    return _protobuf(delivery) if media == PROTOBUF else _json(delivery, parts)


def _read(body: bytes, encoding: str, limit: int, media: str) -> Delivery:
    return read_delivery(unpacked(body, encoding, limit), media)


async def _keep(gate: Gate, account: str, delivery: Delivery) -> bool:
    """Store the spans, then make the parts; tell whether those are made."""
    if not delivery.spans:
        return True
    async with gate.database.write() as session:
        await lock_account(session, account)
        gained = await add_spans(session, account, delivery.spans)
        claim = await note_remake(session, gate, account, gained) if gained else None
    return claim is None or await jobs.run(gate, claim, remake)


async def _parts(gate: Gate, account: str, delivery: Delivery) -> dict[str, tuple[str, int]]:
    """Return dataset and rows of the parts that this delivery's traces have now."""
    traces = list(dict.fromkeys(delivered.span.trace_id for delivered in delivery.spans))
    found: dict[str, tuple[str, int]] = {}
    async with gate.database.read() as session:
        for batch in batches(traces):
            query = select(Part.trace_id, Dataset.id, Part.rows).join(Dataset)
            query = query.where(Dataset.account_id == account, Part.trace_id.in_(batch))
            for trace, dataset, rows in await session.execute(query):
                found[str(trace)] = (dataset, rows)
    return {trace: found[trace] for trace in traces if trace in found}


def _reject_without_content(delivery: Delivery, parts: dict[str, tuple[str, int]]) -> None:
    without = sum(delivered.span.trace_id not in parts for delivered in delivery.spans)
    if without:
        delivery.rejected += without
        delivery.problem = delivery.problem or f"{without} {_NO_CONTENT}"


def _json(delivery: Delivery, parts: dict[str, tuple[str, int]]) -> Response:
    datasets = [dataset for dataset, _ in parts.values()]
    answer: Json = {
        "datasetId": datasets[0] if datasets else None,
        "rows": sum(rows for _, rows in parts.values()),
    }
    if delivery.rejected:
        answer["partialSuccess"] = {
            "rejectedSpans": str(delivery.rejected),  # how protobuf writes 64 bits in JSON
            "errorMessage": delivery.problem,
        }
    return JsonResponse(answer, status_code=_ACCEPTED)


def _protobuf(delivery: Delivery) -> Response:
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTracePartialSuccess,
        ExportTraceServiceResponse,
    )

    answer = ExportTraceServiceResponse()
    if delivery.rejected:
        partial = ExportTracePartialSuccess(
            rejected_spans=delivery.rejected, error_message=delivery.problem or ""
        )
        answer.partial_success.CopyFrom(partial)
    return Response(answer.SerializeToString(), status_code=_ACCEPTED, media_type=PROTOBUF)


routes = [Route("/v1/traces", take_in, methods=["POST"])]
