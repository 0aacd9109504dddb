"""OpenAI evals: event logs of a run, whose samplings and grades are joined by `sample_id`.

A sampling repeats the conversation so far, so the samplings of one sample become one conversation.
The grade is that of `match` events, and of `metrics` only as scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whileai_core.dialects.events import Say
from whileai_core.dialects.messages.values import text_id, text_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.histories import Thread
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    grouped,
    head,
    mostly,
    obj,
    objects,
    present,
    text,
    usage,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_event(value: object) -> bool:
    record = obj(value)
    return {"sample_id", "event_id", "run_id"} <= record.keys()


def _is_line(value: object) -> bool:
    record = obj(value)
    return _is_event(record) or "spec" in record or "final_report" in record


def _matches(first_records: Sequence[object]) -> bool:
    return mostly(first_records, _is_line) and any(map(_is_event, first_records))


def _samples(values: Iterable[object]) -> Iterator[tuple[Object, list[Object]]]:
    records = [obj(value) for value in values]
    spec = next((obj(record["spec"]) for record in records if "spec" in record), {})
    for events in grouped(filter(_is_event, records), "sample_id"):
        yield spec, events


def _row(part: tuple[Object, list[Object]]) -> Row | None:
    spec, events = part
    thread = Thread()
    for event in events:
        if event.get("type") == "sampling":
            data = obj(event.get("data"))
            said = data.get("sampled")
            replies = said if isinstance(said, list) else [said]
            answer = text_of(replies[0]) if replies else ""
            thread.add_history(input_events(data.get("prompt")) + ([Say(answer)] if answer else []))
    models = spec.get("completion_fns")
    row = present(
        sample_id=text(events[0].get("sample_id")),
        run_id=text(events[0].get("run_id")),
        eval=text(spec.get("eval_name")),
        model=models[0] if isinstance(models, list) and models else None,
        ts=events[0].get("created_at"),
    )
    for event in events:
        data = obj(event.get("data"))
        if event.get("type") == "match":
            labels.grade(row, data.get("correct"), "correct")
        elif event.get("type") == "metrics":
            for name, value in data.items():
                labels.score(row, name, value)
    return row_from_events(thread.events, extra=row)


# Runs of the evals API: one item a sample, with the messages of the sample.


def _is_item(value: object) -> bool:
    record = obj(value)
    return "datasource_item" in record and isinstance(record.get("sample"), dict)


def _matches_items(value: object) -> bool:
    return _is_item(value) or any(map(_is_item, head(obj(value).get("data"))))


def _item_row(item: Object) -> Row | None:
    sample = obj(item.get("sample"))
    counted = obj(sample.get("usage"))
    row = present(
        sample_id=text_id(item.get("id")),
        run_id=text(item.get("run_id")),
        eval=text(item.get("eval_id")),
        model=text(sample.get("model")),
        ts=item.get("created_at"),
        usage=usage(counted.get("prompt_tokens"), counted.get("completion_tokens")),
    )
    if item.get("status") in ("pass", "fail"):
        labels.grade(row, item["status"] == "pass", "status")
    for result in objects(item.get("results")):
        labels.score(row, result.get("name"), result.get("score"))
    events = input_events(sample.get("input")) + output_events(sample.get("output"))
    return row_from_events(events, extra=row)


ITEMS = Reader(
    name="openai-evals",
    matches=_matches_items,
    conversations=lambda value: objects(value.get("data")) or [value],
    row=_item_row,
    markers=frozenset({"datasource_item", "data"}),
)
LOG = Reader(name="openai-evals", matches=_matches, conversations=_samples, row=_row)
