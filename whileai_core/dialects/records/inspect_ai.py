"""Inspect (UK AISI): eval logs as one object with `samples`, and the members of `.eval` files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from whileai_core.dialects.events import Ask, Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import error_result, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

# Letter grades of the built-in scorers; a partial grade is a score, not a reward.
_LETTERS = {"C": 1, "I": 0, "P": 0.5, "N": 0}
_ATTACHMENT = "attachment://"


class _Sample(NamedTuple):
    sample: Object
    eval: Object


def _matches(value: object) -> bool:
    record = obj(value)
    if isinstance(record.get("eval"), dict) and ("plan" in record or "samples" in record):
        return True
    return _is_sample(record)


def _is_sample(record: Object) -> bool:
    """Tell whether this is a sample, or the summary of one that is stored elsewhere."""
    return {"id", "epoch", "input", "target"} <= record.keys()


def _samples(value: object) -> Iterator[_Sample]:
    """Yield the samples of a log; a header or a summary alone has none."""
    record = obj(value)
    if _is_sample(record) and ("messages" in record or "output" in record):
        yield _Sample(record, {})
    for sample in objects(record.get("samples")):
        yield _Sample(sample, obj(record.get("eval")))


def _row(part: _Sample) -> Row | None:
    sample, log = part
    attachments = obj(sample.get("attachments"))
    messages = _restored(sample.get("messages"), attachments)
    events = [event for message in objects(messages) for event in _message_events(message)]
    if not any(isinstance(event, Ask) for event in events):
        events = _input_events(_restored(sample.get("input"), attachments)) + events
    output = obj(sample.get("output"))
    if not objects(messages):
        events += events_of(_restored(output.get("choices"), attachments))
    tokens = next(iter(obj(sample.get("model_usage")).values()), output.get("usage"))
    row = present(
        sample_id=sample.get("id"),
        **kept(sample, "epoch", "target"),
        task=text(log.get("task")),
        model=text(output.get("model")) or text(log.get("model")),
        usage=usage(obj(tokens).get("input_tokens"), obj(tokens).get("output_tokens")),
        conversation_id=text_id(sample.get("uuid")),
        ts=text(sample.get("started_at")) or text(log.get("created")),
    )
    _grade(row, _scores(sample))
    return row_from_events(events, extra=row)


def _message_events(message: Object) -> list[Event]:
    events = events_of([message])
    if message.get("role") != "tool":
        return events
    # The tool's name stands under `function`, its failure under `error` beside the content.
    name = text(message.get("function")) or None
    error = obj(message.get("error"))
    return [
        Result(_failed(e.value, error) if error else e.value, e.id, e.name or name)
        if isinstance(e, Result)
        else e
        for e in events
    ]


def _failed(value: object, error: Object) -> Object:
    told = text(error.get("message")) or text(error.get("type"))
    return error_result(value if value not in (None, "") else told)


def _input_events(given: object) -> list[Event]:
    return [Ask(given)] if isinstance(given, str) and given else events_of(given)


def _scores(sample: Object) -> Object:
    """Return scorer → score; logs before the several-scorers format have one under `score`."""
    scores = sample.get("scores")
    if isinstance(scores, dict):
        return scores
    return {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}


def _grade(row: Row, scores: Object) -> None:
    for scorer, score in scores.items():
        value = score.get("value") if isinstance(score, dict) else score
        if isinstance(value, dict):
            for name, part in value.items():
                labels.score(row, f"{scorer}.{name}", _number(part))
        elif isinstance(value, list):
            for index, part in enumerate(value):
                labels.score(row, f"{scorer}.{index}", _number(part))
        else:
            labels.grade(row, _number(value), scorer)


def _number(value: Any) -> Any:
    return _LETTERS.get(value, value) if isinstance(value, str) else value


def _restored(value: Any, attachments: Object) -> Any:
    """Put long texts back that the log keeps once, under their hash."""
    if not attachments:
        return value
    if isinstance(value, str):
        if value.startswith(_ATTACHMENT):
            return attachments.get(value.removeprefix(_ATTACHMENT), value)
        return value
    if isinstance(value, list):
        return [_restored(item, attachments) for item in value]
    if isinstance(value, dict):
        return {key: _restored(item, attachments) for key, item in value.items()}
    return value


LOG = Reader(
    name="inspect",
    matches=_matches,
    conversations=_samples,
    row=_row,
    markers=frozenset({"eval", "epoch"}),
)
