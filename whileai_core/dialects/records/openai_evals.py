"""OpenAI evals: event logs of a run, whose samplings and grades are joined by `sample_id`.

A sampling repeats the conversation so far, so the samplings of one sample become one conversation.
The grade is that of `match` events, and of `metrics` only as scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from whileai_core.dialects.events import Say
from whileai_core.dialects.messages.values import text_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.histories import Thread
from whileai_core.dialects.records.payloads import input_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, grouped, mostly, obj, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_event(value: object) -> bool:
    record = obj(value)
    return {"sample_id", "event_id", "run_id"} <= record.keys()


def _is_line(value: object) -> bool:
    record = obj(value)
    return _is_event(record) or "spec" in record or "final_report" in record


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_line) and any(map(_is_event, head))


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


LOG = Reader(name="openai-evals", matches=_matches, conversations=_samples, row=_row)
