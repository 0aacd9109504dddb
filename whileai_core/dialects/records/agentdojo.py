"""AgentDojo: one attack or benign run with messages and the outcome of its two checks."""

from __future__ import annotations

from whileai_core.dialects.events import Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import error_result
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_IDS = (
    "suite_name", "pipeline_name", "user_task_id", "injection_task_id", "attack_type",
    "agentdojo_package_version", "benchmark_version",
)  # fmt: skip


def _matches(value: object) -> bool:
    record = obj(value)
    return isinstance(record.get("messages"), list) and "utility" in record and "security" in record


def _row(record: Object) -> Row | None:
    events = [event for m in objects(record.get("messages")) for event in _events(m)]
    row = kept(record, *_IDS, "error")
    if model := text(record.get("pipeline_name")):
        row["model"] = model
    if stamp := text(record.get("evaluation_timestamp")):
        row["ts"] = stamp
    labels.grade(row, record.get("utility"), "utility")
    labels.score(row, "security", record.get("security"))
    return row_from_events(events, extra=row)


def _events(message: Object) -> list[Event]:
    calls = objects(message.get("tool_calls"))
    if calls:
        message = message | {"tool_calls": [c | {"arguments": c.get("args")} for c in calls]}
    events = events_of([message])
    if message.get("role") != "tool":
        return events
    name = text(obj(message.get("tool_call")).get("function")) or None
    error = text(message.get("error"))
    return [
        Result(error_result(error) if error else e.value, e.id, e.name or name)
        if isinstance(e, Result)
        else e
        for e in events
    ]


RUN = Reader(
    name="agentdojo",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"utility"}),
)
