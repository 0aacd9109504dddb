"""MLflow: traces as rows of a search result or an evaluation table, without their spans.

Traces that carry spans are read as spans.
"""

from __future__ import annotations

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, decoded, obj, objects, present
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OF_A_TRACE = frozenset({
    "trace_metadata", "request_metadata", "execution_duration", "execution_time_ms", "assessments",
})  # fmt: skip


def _matches(value: object) -> bool:
    record = obj(value)
    if _OF_A_TRACE.isdisjoint(record) or objects(record.get("spans")):
        return False
    return first(record, ("request", "request_preview", "inputs")) is not None


def _row(record: Object) -> Row | None:
    given = first(record, ("request", "inputs", "request_preview"))
    told = first(record, ("response", "outputs", "response_preview"))
    metadata = obj(decoded(first(record, ("trace_metadata", "request_metadata"))))
    row = present(
        trace_id=text_id(first(record, ("trace_id", "request_id"))),
        conversation_id=text_id(metadata.get("mlflow.trace.session")),
        ts=first(record, ("request_time", "timestamp_ms")),
    )
    for assessment in objects(decoded(record.get("assessments"))):
        name = first(assessment, ("assessment_name", "name"))
        value = first(obj(first(assessment, ("feedback", "expectation"))), ("value",))
        labels.score(row, name, value)
    return row_from_events(input_events(given) + output_events(told), extra=row)


TRACES = Reader(
    name="mlflow",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=_OF_A_TRACE,
)
