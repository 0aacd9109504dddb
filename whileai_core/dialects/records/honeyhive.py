"""HoneyHive: events of sessions as its API exports them, alone or in a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.runs import Run, RunKind, conversation, run_facts
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    grouped,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KINDS: dict[str, RunKind] = {"model": "model", "tool": "tool"}


def _is_event(value: object) -> bool:
    record = obj(value)
    return "event_type" in record and "event_id" in record and "session_id" in record


def _events(value: object) -> list[Object]:
    record = obj(value)
    return [record] if _is_event(record) else objects(record.get("events"))


def _sessions(values: Iterable[object]) -> list[list[Object]]:
    return grouped((event for value in values for event in _events(value)), "session_id")


def _row(events: list[Object]) -> Row | None:
    # Around the turns of an agent stand events that are called tools and hold model calls.
    around = {event.get("parent_id") for event in events if event["event_type"] == "model"}
    runs = [_run(event, wraps=event["event_id"] in around) for event in events]
    root = next((event for event in events if event["event_type"] == "session"), events[0])
    extra = present(
        conversation_id=text_id(root.get("session_id")),
        ts=root.get("start_time"),
        agent=next(filter(None, (obj(e.get("metadata")).get("agent_name") for e in events)), None),
        **run_facts(runs),
    )
    for event in events:
        for name, value in {**obj(event.get("metrics")), **obj(event.get("feedback"))}.items():
            labels.score(extra, name, value)
    return row_from_events(conversation(runs), extra=extra)


def _run(event: Object, *, wraps: bool) -> Run:
    config, outputs = obj(event.get("config")), obj(event.get("outputs"))
    metadata = obj(event.get("metadata"))
    kind: RunKind = "other" if wraps else _KINDS.get(text(event.get("event_type")), "other")
    name = text(config.get("tool_name")) or text(event.get("event_name")) or "tool"
    tool = kind == "tool"
    return Run(
        id=text_id(event.get("event_id")),
        parent=None if event.get("event_type") == "session" else text_id(event.get("parent_id")),
        kind=kind,
        name=name.removeprefix("execute_tool "),
        start=sortable(event.get("start_time")),
        input=_given(event, "parameters") if tool else _history(_given(event, "chat_history")),
        output=outputs.get("result", outputs) if tool else outputs or None,
        error=text(event.get("error")) or None,
        model=text(config.get("model")) or None,
        tokens_in=first(metadata, ("input_tokens", "prompt_tokens")),
        tokens_out=first(metadata, ("output_tokens", "completion_tokens")),
        call_id=text_id(outputs.get("tool_call_id")),
    )


def _given(event: Object, key: str) -> Any:
    inputs = obj(event.get("inputs"))
    return inputs.get(key, inputs) or None


def _history(value: object) -> Any:
    """Return messages with contents that were written as JSON text read back."""
    if not isinstance(value, list):
        return value
    return [
        {**message, "content": _content(message)} if "content" in obj(message) else message
        for message in value
    ]


def _content(message: Object) -> Any:
    content = message["content"]
    if message.get("role") not in ("tool", "assistant"):
        return content
    blocks = decoded(content)
    if isinstance(blocks, dict) and ("toolResult" in blocks or "toolUse" in blocks):
        return [blocks]
    return content


def _matches(value: object) -> bool:
    return any(map(_is_event, _events(value)))


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_event)


PAGE = Reader(
    name="honeyhive",
    matches=_matches,
    conversations=lambda value: _sessions([value]),
    row=_row,
    markers=frozenset({"events", "event_type"}),
)
EVENTS = Reader(name="honeyhive", matches=_matches_list, conversations=_sessions, row=_row)
