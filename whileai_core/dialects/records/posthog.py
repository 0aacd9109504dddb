"""PostHog LLM analytics: `$ai_generation`, `$ai_span` and `$ai_trace` events, joined by trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    head,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KINDS: dict[str, RunKind] = {"$ai_generation": "model"}
_EVENTS = frozenset({"$ai_generation", "$ai_span", "$ai_trace", "$ai_embedding"})


def _is_event(value: object) -> bool:
    return obj(value).get("event") in _EVENTS


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_event)


def _matches_page(value: object) -> bool:
    record = obj(value)
    return _is_event(record) or any(map(_is_event, head(record.get("results"), 3)))


def _traces(values: Iterable[object]) -> list[list[Object]]:
    """Return the events of each trace; embeddings are no part of a conversation."""
    traces: dict[str, list[Object]] = {}
    for event in filter(_is_event, map(obj, values)):
        if event["event"] != "$ai_embedding":
            trace = text_id(_properties(event).get("$ai_trace_id")) or str(len(traces))
            traces.setdefault(trace, []).append(event)
    return list(traces.values())


def _properties(event: Object) -> Object:
    return obj(decoded(event.get("properties")))


def _row(events: list[Object]) -> Row | None:
    runs = [_run(event) for event in events]
    known = [_properties(event) for event in events]
    extra = present(
        trace_id=text_id(known[0].get("$ai_trace_id")),
        conversation_id=next(
            (text_id(k["$ai_session_id"]) for k in known if "$ai_session_id" in k), None
        ),
        ts=min(text(event.get("timestamp")) for event in events),
        **run_facts(runs),
    )
    return row_from_events(conversation(runs), extra=extra)


def _run(event: Object) -> Run:
    known = _properties(event)
    is_trace = event.get("event") == "$ai_trace"
    trace = text_id(known.get("$ai_trace_id"))
    error = known.get("$ai_error") if known.get("$ai_is_error") else None
    return Run(
        id=trace if is_trace else text_id(first(known, ("$ai_span_id", "$ai_generation_id"))),
        parent=None if is_trace else text_id(known.get("$ai_parent_id")) or trace,
        kind=_KINDS.get(text(event.get("event")), "other"),
        name=text(known.get("$ai_span_name")) or "tool",
        start=sortable(event.get("timestamp")),
        input=first(known, ("$ai_input", "$ai_input_state")),
        output=first(known, ("$ai_output_choices", "$ai_output", "$ai_output_state")),
        error=text(error) or ("error" if error else None),
        model=text(known.get("$ai_model")) or None,
        tokens_in=known.get("$ai_input_tokens"),
        tokens_out=known.get("$ai_output_tokens"),
    )


EVENTS = Reader(name="posthog", matches=_matches, conversations=_traces, row=_row)
PAGE = Reader(
    name="posthog",
    matches=_matches_page,
    conversations=lambda value: _traces(objects(value.get("results")) or [value]),
    row=_row,
    markers=frozenset({"event", "results"}),
)
