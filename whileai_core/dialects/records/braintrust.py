"""Braintrust: spans of logs and experiments as the API lists them, one a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    grouped,
    kept,
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
_LISTS = ("events", "rows", "data")  # of a page


def _is_span(value: object) -> bool:
    record = obj(value)
    return "root_span_id" in record and "span_id" in record


def _matches(value: object) -> bool:
    return any(map(_is_span, _spans(value)))


def _spans(value: object) -> list[Object]:
    record = obj(value)
    return [record] if _is_span(record) else objects(first(record, _LISTS))


def _traces(values: Iterable[object]) -> list[list[Object]]:
    return grouped((span for value in values for span in _spans(value)), "root_span_id")


def _row(spans: list[Object]) -> Row | None:
    # Scorers judge the conversation and are no part of it.
    told = [span for span in spans if _attributes(span).get("type") != "score"]
    runs = [_run(span) for span in told]
    root = next((span for span in told if not span.get("span_parents")), spans[0])
    extra = kept(root, "expected", "tags") | present(
        trace_id=text_id(root.get("root_span_id")),
        ts=first(obj(root.get("metrics")), ("start",)) or root.get("created"),
        agent=text(_attributes(root).get("name")),
        **run_facts(runs),
    )
    for span in spans:
        for name, value in obj(span.get("scores")).items():
            labels.score(extra, name, value)
    return row_from_events(conversation(runs), extra=extra)


def _run(span: Object) -> Run:
    attributes = _attributes(span)
    metrics = obj(span.get("metrics"))
    parents = span.get("span_parents")
    return Run(
        id=text_id(span.get("span_id")),
        parent=text_id(parents[0]) if isinstance(parents, list) and parents else None,
        kind=_KINDS.get(text(attributes.get("type")), "other"),
        name=text(attributes.get("name")) or "tool",
        start=sortable(first(metrics, ("start",)) or span.get("created")),
        input=span.get("input"),
        output=span.get("output"),
        error=_error(span.get("error")),
        model=text(obj(span.get("metadata")).get("model")) or None,
        tokens_in=metrics.get("prompt_tokens"),
        tokens_out=metrics.get("completion_tokens"),
    )


def _attributes(span: Object) -> Object:
    return obj(span.get("span_attributes"))


def _error(value: object) -> str | None:
    return (text(value) or text(obj(value).get("message")) or "error") if value else None


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_span)


PAGE = Reader(
    name="braintrust",
    matches=_matches,
    conversations=lambda value: _traces([value]),
    row=_row,
    markers=frozenset({"root_span_id", *_LISTS}),
)
SPANS = Reader(name="braintrust", matches=_matches_list, conversations=_traces, row=_row)
