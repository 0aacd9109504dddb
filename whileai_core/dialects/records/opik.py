"""Opik: traces and spans as its SDKs list them, apart, mixed, or as `{trace, spans}` files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    kept,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
    walk,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KINDS: dict[str, RunKind] = {"llm": "model", "tool": "tool"}
_OF_A_TRACE = frozenset({"feedback_scores", "span_count", "llm_span_count", "total_estimated_cost"})


def _is_span(record: Object) -> bool:
    return (
        "trace_id" in record
        and "parent_span_id" in record
        and "input" in record
        and "span_id" not in record
    )


def _is_trace(record: Object) -> bool:
    return (
        ("project_id" in record or "project_name" in record)
        and "input" in record
        and "start_time" in record
        and not _OF_A_TRACE.isdisjoint(record)
    )


def _is_part(value: object) -> bool:
    record = obj(value)
    return _is_span(record) or _is_trace(record) or bool(_file(record))


def _file(record: Object) -> list[Object]:
    trace = obj(record.get("trace"))
    if "input" not in trace or not isinstance(record.get("spans"), list):
        return []
    return [trace, *objects(record["spans"])]


def _traces(values: Iterable[object]) -> Iterator[list[Object]]:
    traces: dict[str, list[Object]] = {}
    for value in values:
        for part in _file(obj(value)) or [obj(value)]:
            for record in walk(part, "spans"):
                traces.setdefault(_trace_id(record), []).append(record)
    yield from traces.values()


def _trace_id(record: Object) -> str:
    return text_id(record.get("trace_id")) or text_id(record.get("id")) or ""


def _row(records: list[Object]) -> Row | None:
    runs = [_run(record) for record in records]
    trace = next((record for record in records if "trace_id" not in record), records[0])
    extra = kept(trace, "tags") | present(
        conversation_id=text_id(trace.get("thread_id")),
        trace_id=_trace_id(trace),
        ts=trace.get("start_time"),
        agent=text(trace.get("name")),
        **run_facts(runs),
    )
    for record in records:
        for score in objects(record.get("feedback_scores")):
            labels.score(extra, score.get("name"), score.get("value"))
    return row_from_events(conversation(runs), extra=extra)


def _run(record: Object) -> Run:
    usage = obj(record.get("usage"))
    error = record.get("error_info")
    is_span = "trace_id" in record
    parent = text_id(record.get("parent_span_id")) or text_id(record.get("trace_id"))
    return Run(
        id=text_id(record.get("id")),
        parent=parent if is_span else None,
        kind=_KINDS.get(text(record.get("type")), "other") if is_span else "other",
        name=text(record.get("name")) or "tool",
        # A trace stands before the span that starts with it.
        start=f"{sortable(record.get('start_time'))} {int(is_span)}",
        input=record.get("input"),
        output=record.get("output"),
        error=(text(obj(error).get("message")) or "error") if error else None,
        model=text(record.get("model")) or None,
        tokens_in=usage.get("prompt_tokens"),
        tokens_out=usage.get("completion_tokens"),
    )


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_part)


TRACE = Reader(
    name="opik",
    matches=_is_part,
    conversations=lambda value: _traces([value]),
    row=_row,
    markers=_OF_A_TRACE | {"parent_span_id", "spans"},
)
TRACES = Reader(name="opik", matches=_matches_list, conversations=_traces, row=_row)
