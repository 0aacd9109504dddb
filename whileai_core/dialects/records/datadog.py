"""Datadog LLM Observability: spans as its export API lists them and as its SDK sends them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KINDS: dict[str, RunKind] = {"llm": "model", "tool": "tool"}
_NO_PARENT = ("undefined", "0", None)


def _attributes(value: object) -> Object:
    """Return what is known of a span, wherever the export puts it."""
    record = obj(value)
    return obj(record.get("attributes")) or record


def _kind(span: Object) -> str:
    return text(span.get("span_kind")) or text(obj(span.get("meta")).get("kind"))


def _is_span(value: object) -> bool:
    span = _attributes(value)
    return {"span_id", "trace_id", "start_ns"} <= span.keys() and bool(_kind(span))


def _spans(value: object) -> list[Object]:
    data = obj(value).get("data")
    if isinstance(data, dict):
        return [
            span for span in objects(obj(data.get("attributes")).get("spans")) if _is_span(span)
        ]
    return [_attributes(item) for item in objects(data) if _is_span(item)]


def _matches(value: object) -> bool:
    return bool(_spans(value))


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_span)


def _traces(spans: Iterable[Object]) -> Iterator[list[Object]]:
    traces: dict[str, list[Object]] = {}
    for span in spans:
        traces.setdefault(text_id(span.get("trace_id")) or "", []).append(span)
    yield from traces.values()


def _row(spans: list[Object]) -> Row | None:
    runs = [_run(span) for span in spans]
    sessions = (text_id(span.get("session_id")) for span in spans)
    extra = present(
        trace_id=text_id(spans[0].get("trace_id")),
        conversation_id=next(filter(None, sessions), None),
        ts=min(span["start_ns"] for span in spans),
        agent=next((text(s.get("name")) for s in spans if _kind(s) == "agent"), ""),
        **run_facts(runs),
    )
    return row_from_events(conversation(runs), extra=extra)


def _run(span: Object) -> Run:
    meta = obj(span.get("meta")) or span
    metrics = obj(span.get("metrics"))
    parent = text_id(span.get("parent_id"))
    failed = span.get("status") == "error"
    kind = _KINDS.get(_kind(span), "other")
    return Run(
        id=text_id(span.get("span_id")),
        parent=None if parent in _NO_PARENT else parent,
        kind=kind,
        name=text(span.get("name")) or "tool",
        start=sortable(span.get("start_ns")),
        input=_payload(meta.get("input")),
        output=_payload(meta.get("output")),
        error=(text(obj(meta.get("error")).get("message")) or "error") if failed else None,
        model=text(first(meta, ("model_name",)) or obj(meta.get("metadata")).get("model_name"))
        or None,
        tokens_in=metrics.get("input_tokens"),
        tokens_out=metrics.get("output_tokens"),
    )


def _payload(value: object) -> Any:
    """Return messages, where there are any, else the text."""
    held = obj(value)
    return first(held, ("messages", "value")) if held else value


PAGE = Reader(
    name="datadog",
    matches=_matches,
    conversations=lambda value: _traces(_spans(value)),
    row=_row,
    markers=frozenset({"data"}),
)
SPANS = Reader(
    name="datadog",
    matches=_matches_list,
    conversations=lambda values: _traces(_attributes(value) for value in values if _is_span(value)),
    row=_row,
)
