"""promptfoo: output files (`results.results`), and their rows as lines."""

from __future__ import annotations

from collections.abc import Iterator

from whileai_core.dialects.events import Ask, Event
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.payloads import output_events
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    kept,
    obj,
    objects,
    present,
    text,
    usage,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_result(record: Object) -> bool:
    return "prompt" in record and "provider" in record and {"vars", "response"} <= record.keys()


def _results(value: object) -> list[Object]:
    record = obj(value)
    if _is_result(record):
        return [record]
    listed = record.get("results")
    return objects(listed) or objects(obj(listed).get("results"))


def _matches(value: object) -> bool:
    results = _results(value)
    return bool(results) and _is_result(results[0])


def _conversations(value: object) -> Iterator[Object]:
    yield from _results(value)


def _row(result: Object) -> Row | None:
    response = obj(result.get("response"))
    counted = obj(response.get("tokenUsage"))
    provider = result.get("provider")
    row = kept(result, "testIdx", "promptIdx", "vars") | present(
        model=text(provider) or text(obj(provider).get("id")),
        error=text(result.get("error")),
        usage=usage(counted.get("prompt"), counted.get("completion")),
    )
    if isinstance(result.get("success"), bool):
        labels.grade(row, result["success"], "success")
    labels.score(row, "score", result.get("score"))
    for name, value in obj(result.get("namedScores")).items():
        labels.score(row, name, value)
    events = _asked(result.get("prompt")) + output_events(response.get("output"))
    return row_from_events(events, extra=row)


def _asked(prompt: object) -> list[Event]:
    """Return what was sent: text, or messages as JSON text."""
    raw = prompt if isinstance(prompt, str) else text(obj(prompt).get("raw"))
    sent = decoded(raw)
    events = events_of(sent) if isinstance(sent, list | dict) else []
    return events or [Ask(raw)]


RESULTS = Reader(
    name="promptfoo",
    matches=_matches,
    conversations=_conversations,
    row=_row,
    markers=frozenset({"results", "vars"}),
)
