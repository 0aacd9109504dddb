"""Anthropic message batches: requests (`params`) and results (`result`), joined by `custom_id`.

A file holds either or both as lines, or a request to create the batch around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.records.batches import ID, Exchange, exchanges
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, present, text, usage
from whileai_core.dialects.records.shape import head as first_objects
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_result(record: Object) -> bool:
    return isinstance(obj(record.get("result")).get("type"), str)


def _is_line(value: object) -> bool:
    record = obj(value)
    return ID in record and ("messages" in obj(record.get("params")) or _is_result(record))


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_line)


def _matches_creation(value: object) -> bool:
    return any(map(_is_line, first_objects(obj(value).get("requests"))))


def _conversations(values: Iterable[object]) -> list[Exchange]:
    return exchanges(values, _is_result)


def _row(exchange: Exchange) -> Row | None:
    request = obj(exchange.request.get("params"))
    result = obj(exchange.result.get("result"))
    reply = obj(result.get("message"))
    counted = obj(reply.get("usage"))
    extra = present(
        custom_id=exchange.id,
        model=text(reply.get("model")) or text(request.get("model")),
        tools=request.get("tools"),
        error=result.get("error"),
        usage=usage(counted.get("input_tokens"), counted.get("output_tokens")),
    )
    events = input_events(request) + output_events(reply)
    if not events:
        raise ValueError(f"request {exchange.id} came to nothing")
    return row_from_events(events, extra=extra)


BATCH = Reader(name="anthropic-batch", matches=_matches, conversations=_conversations, row=_row)
CREATION = Reader(
    name="anthropic-batch",
    matches=_matches_creation,
    conversations=lambda value: _conversations(obj(value).get("requests", [])),
    row=_row,
    markers=frozenset({"requests"}),
)
LINE = Reader(
    name="anthropic-batch",
    matches=_is_line,
    conversations=lambda value: _conversations([value]),
    row=_row,
    markers=frozenset({ID}),
)
