"""Arize Phoenix: span tables written as records (flat column names), and experiment runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    grouped,
    mostly,
    obj,
    objects,
    present,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_ATTRIBUTES = "attributes."
_SPAN_ID, _TRACE_ID = "context.span_id", "context.trace_id"


def _is_span(value: object) -> bool:
    record = obj(value)
    return "span_kind" in record and (_SPAN_ID in record or _TRACE_ID in record)


def _by_trace(values: Iterable[object]) -> list[list[Object]]:
    return grouped(map(obj, values), _TRACE_ID)


def _row(spans: list[Object]) -> Row | None:
    runs = [_run(span) for span in spans]
    session = next(
        (s[f"{_ATTRIBUTES}session.id"] for s in spans if f"{_ATTRIBUTES}session.id" in s), None
    )
    row = present(
        conversation_id=text_id(session),
        trace_id=text_id(spans[0].get(_TRACE_ID)),
        ts=min((run.start for run in runs), default=""),
        **run_facts(runs),
    )
    return row_from_events(conversation(runs), extra=row)


def _run(span: Object) -> Run:
    kind = text(span.get("span_kind")).upper()
    failed = text(span.get("status_code")).upper() == "ERROR"
    return Run(
        id=text_id(span.get(_SPAN_ID)),
        parent=text_id(span.get("parent_id")),
        kind="model" if kind == "LLM" else "tool" if kind == "TOOL" else "other",
        name=text(_attribute(span, "tool.name")) or text(span.get("name")),
        start=str(span.get("start_time") or ""),
        input=_payload(span, "input"),
        output=_payload(span, "output"),
        error=(text(span.get("status_message")) or "error") if failed else None,
        model=text(_attribute(span, "llm.model_name")) or None,
        tokens_in=_attribute(span, "llm.token_count.prompt"),
        tokens_out=_attribute(span, "llm.token_count.completion"),
    )


def _payload(span: Object, side: str) -> Any:
    messages = decoded(_attribute(span, f"llm.{side}_messages"))
    if isinstance(messages, list) and messages:
        return [_message(message) for message in objects(messages)]
    return _attribute(span, f"{side}.value")


def _attribute(span: Object, name: str) -> Any:
    return span.get(_ATTRIBUTES + name)


def _message(flat: Object) -> Object:
    """Take the prefixes off: `message.role`, `tool_call.function.name` …"""
    message = {key.removeprefix("message."): value for key, value in flat.items()}
    calls = objects(message.get("tool_calls"))
    if calls:
        message["tool_calls"] = [_call(call) for call in calls]
    contents = objects(message.pop("contents", None))
    if contents and not message.get("content"):
        message["content"] = [
            {k.removeprefix("message_content."): v for k, v in part.items()} for part in contents
        ]
    return message


def _call(flat: Object) -> Object:
    call = {key.removeprefix("tool_call."): value for key, value in flat.items()}
    function = obj(call.get("function"))
    return {
        "id": call.get("id"),
        "name": call.get("function.name") or function.get("name"),
        "arguments": call.get("function.arguments") or function.get("arguments"),
    }


def _is_experiment_run(value: object) -> bool:
    record = obj(value)
    return "example_id" in record and "output" in record and "input" in record


def _experiment_row(run: Object) -> Row | None:
    row = present(
        example_id=run.get("example_id"),
        trace_id=text_id(run.get("trace_id")),
        reference_output=run.get("reference_output"),
        ts=text(run.get("start_time")),
    )
    for annotation in objects(run.get("annotations")):
        labels.score(row, first(annotation, ("name",)), annotation.get("score"))
    return row_from_events(input_events(run["input"]) + output_events(run["output"]), extra=row)


SPANS = Reader(
    name="phoenix",
    matches=lambda head: mostly(head, _is_span),
    conversations=_by_trace,
    row=_row,
)
SPAN = Reader(
    name="phoenix",
    matches=_is_span,
    conversations=lambda value: [[obj(value)]],
    row=_row,
    markers=frozenset({_SPAN_ID, _TRACE_ID}),
)
EXPERIMENT = Reader(
    name="phoenix",
    matches=_is_experiment_run,
    conversations=lambda value: [value],
    row=_experiment_row,
    markers=frozenset({"example_id"}),
)
