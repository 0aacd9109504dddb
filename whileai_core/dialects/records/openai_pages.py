"""OpenAI's stored conversations: messages and run steps of Assistants threads, and pages of items.

The API lists the newest first unless asked otherwise. Threads are put in order by time; items of
conversations and responses bear none, so a page whose results stand before their calls, or that
ends with what was asked, is turned round. Azure AI Foundry stores threads in the same form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages import events_of, is_message
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    grouped,
    head,
    mostly,
    obj,
    objects,
    present,
    sortable,
    text,
    usage,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_OF_THREADS = ("thread.message", "thread.run.step")


def _is_of_thread(value: object) -> bool:
    return obj(value).get("object") in _OF_THREADS


def _matches(first_records: Sequence[object]) -> bool:
    return mostly(first_records, _is_of_thread)


def _matches_page(value: object) -> bool:
    record = obj(value)
    listed = head(record.get("data"), 3)
    if record.get("object") != "list" or not listed:
        return False
    return all(map(_is_of_thread, listed)) or all(map(is_message, listed))


def _threads(values: Iterable[object]) -> list[list[Object]]:
    """Return the records of each thread in time order, or the items of a page in theirs."""
    records = [obj(value) for value in values]
    if any(not _is_of_thread(record) for record in records):
        return [_in_order(records)]
    return [_in_time(part) for part in grouped(records, "thread_id")]


def _in_time(records: list[Object]) -> list[Object]:
    """Sort by time; in the same second a run's calls come before the message they led to."""
    newest_first = _time(records[0]) > _time(records[-1])
    return sorted(records[::-1] if newest_first else records, key=_time)


def _time(record: Object) -> tuple[str, bool]:
    return sortable(record.get("created_at")), record.get("object") == "thread.message"


def _in_order(items: list[Object]) -> list[Object]:
    events = [event for event in events_of(items) if isinstance(event, Ask | Say | Call | Result)]
    calls = {event.id: place for place, event in enumerate(events) if isinstance(event, Call)}
    early = any(
        isinstance(event, Result) and place < calls.get(event.id, -1)
        for place, event in enumerate(events)
    )
    spoken = [event for event in events if isinstance(event, Ask | Say)]
    upside_down = spoken and isinstance(spoken[0], Say) and isinstance(spoken[-1], Ask)
    return items[::-1] if early or upside_down else items


def _row(records: list[Object]) -> Row | None:
    counts = [obj(record.get("usage")) for record in records]
    extra = present(
        conversation_id=text_id(records[0].get("thread_id")),
        assistant_id=next(filter(None, (text(r.get("assistant_id")) for r in records)), ""),
        ts=first(records[0], ("created_at",)),
        usage=usage(
            sum(c.get("prompt_tokens") or 0 for c in counts),
            sum(c.get("completion_tokens") or 0 for c in counts),
        )
        if any(counts)
        else None,
    )
    return row_from_events([e for record in records for e in _events(record)], extra=extra)


def _events(record: Object) -> list[Event]:
    if record.get("object") != "thread.run.step":
        return events_of([record])
    details = obj(record.get("step_details"))
    calls = objects(details.get("tool_calls"))
    failed = text(obj(record.get("last_error")).get("message"))
    return [event for call in calls for event in _call(call, failed)]


def _call(call: Object, failed: str) -> list[Event]:
    kind = text(call.get("type"))
    body = obj(call.get(kind))
    identity = text_id(call.get("id"))
    if kind == "function":
        made = Call(name_of(body.get("name")), arguments_of(body.get("arguments")), identity)
        answer = body.get("output")
    else:
        given = {key: body[key] for key in ("input",) if key in body}
        made = Call(name_of(kind), given, identity)
        answer = first(body, ("outputs", "results", "output"))
    if failed and answer is None:
        return [made, Result(error_result(failed), identity)]
    return [made] if answer is None else [made, Result(result_of(answer), identity)]


THREADS = Reader(name="openai-api", matches=_matches, conversations=_threads, row=_row)
PAGE = Reader(
    name="openai-api",
    matches=_matches_page,
    conversations=lambda value: _threads(objects(obj(value).get("data"))),
    row=_row,
    markers=frozenset({"data"}),
)
