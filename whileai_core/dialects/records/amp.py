"""Amp threads: Anthropic blocks whose results tell of a run (`run.status`, `run.result`)."""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import error_result, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, head, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _matches(value: object) -> bool:
    record = obj(value)
    if "v" not in record or "created" not in record:
        return False
    return any("messageId" in message for message in head(record.get("messages")))


def _row(thread: Object) -> Row | None:
    extra = present(
        conversation_id=text_id(thread.get("id")),
        title=text(thread.get("title")),
        ts=thread.get("created"),
    )
    events = [e for message in objects(thread.get("messages")) for e in _events(message)]
    return row_from_events(events, extra=extra)


def _events(message: Object) -> list[Event]:
    runs = [block for block in objects(message.get("content")) if "run" in block]
    if not runs:
        return events_of([message])
    return [Result(_value(obj(run["run"])), text_id(run.get("toolUseID"))) for run in runs]


def _value(run: Object) -> Any:
    if run.get("status") == "done":
        return result_of(run.get("result"))
    failure = obj(run.get("error")).get("message") or run.get("reason") or run.get("status")
    return error_result(failure)


THREAD = Reader(
    name="amp",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"messages"}),
)
