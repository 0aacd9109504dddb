"""Amazon Bedrock: the log of model invocations, one request and its reply a record."""

from __future__ import annotations

from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _matches(value: object) -> bool:
    return obj(value).get("schemaType") == "ModelInvocationLog"


def _row(record: Object) -> Row | None:
    given, told = obj(record.get("input")), obj(record.get("output"))
    request, reply = given.get("inputBodyJson"), told.get("outputBodyJson")
    extra = kept(record, "operation") | present(
        trace_id=text_id(record.get("requestId")),
        ts=record.get("timestamp"),
        model=text(record.get("modelId")),
        tools=obj(request).get("tools") or obj(obj(request).get("toolConfig")).get("tools"),
        usage=usage(given.get("inputTokenCount"), told.get("outputTokenCount")),
    )
    return row_from_events(input_events(request) + output_events(reply), extra=extra)


LOG = Reader(
    name="bedrock-invocations",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"schemaType"}),
)
