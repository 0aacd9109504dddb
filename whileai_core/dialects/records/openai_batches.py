"""OpenAI batches: lines of requests (`body`) and of results (`response`), joined by `custom_id`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.messages.values import first
from whileai_core.dialects.records.batches import ID, Exchange, exchanges
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_request(record: Object) -> bool:
    return "url" in record and isinstance(record.get("body"), dict)


def _is_result(record: Object) -> bool:
    return "response" in record and "error" in record


def _is_line(value: object) -> bool:
    record = obj(value)
    return ID in record and (_is_request(record) or _is_result(record))


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_line)


def _conversations(values: Iterable[object]) -> list[Exchange]:
    return exchanges(values, _is_result)


def _row(exchange: Exchange) -> Row | None:
    request = obj(exchange.request.get("body"))
    response = obj(exchange.result.get("response"))
    reply = obj(response.get("body"))
    counted = obj(reply.get("usage"))
    extra = present(
        custom_id=exchange.id,
        model=text(reply.get("model")) or text(request.get("model")),
        ts=first(reply, ("created", "created_at")),
        tools=request.get("tools"),
        status_code=response.get("status_code"),
        error=exchange.result.get("error") or reply.get("error"),
        usage=usage(
            first(counted, ("prompt_tokens", "input_tokens")),
            first(counted, ("completion_tokens", "output_tokens")),
        ),
    )
    events = input_events(request) + output_events(reply)
    if not events:
        raise ValueError(f"request {exchange.id} came to nothing")
    return row_from_events(events, extra=extra)


BATCH = Reader(name="openai-batch", matches=_matches, conversations=_conversations, row=_row)
LINE = Reader(
    name="openai-batch",
    matches=_is_line,
    conversations=lambda value: _conversations([value]),
    row=_row,
    markers=frozenset({ID}),
)
