"""ATIF, the Agent Trajectory Interchange Format of Harbor and Terminal-Bench (v1.0 to v1.7)."""

from __future__ import annotations

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    first,
    name_of,
    result_of,
    text_id,
    text_of,
)
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, obj, objects, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_SPEAKERS: dict[str, type[Ask | Say | Instruct]] = {"user": Ask, "agent": Say, "system": Instruct}


def _matches(value: object) -> bool:
    record = obj(value)
    if text(record.get("schema_version")).startswith("ATIF"):
        return True
    steps = objects(record.get("steps"))
    return bool(steps) and "source" in steps[0] and "message" in steps[0] and "agent" in record


def _row(record: Object) -> Row:
    agent = obj(record.get("agent"))
    metrics = obj(record.get("final_metrics"))
    steps = objects(record.get("steps"))
    row = present(
        agent=text(agent.get("name")),
        model=text(agent.get("model_name")) or _model(steps),
        conversation_id=text_id(first(record, ("trajectory_id", "session_id"))),
        ts=text(steps[0].get("timestamp")) if steps else "",
        tools=agent.get("tool_definitions"),
        usage=usage(metrics.get("total_prompt_tokens"), metrics.get("total_completion_tokens")),
        subagents=[_row(below) for below in objects(record.get("subagent_trajectories"))],
    )
    if "reward" in record:
        labels.grade(row, record["reward"], "reward")
    return row_from_events([event for step in steps for event in _events(step)], extra=row)


def _model(steps: list[Object]) -> str:
    return next((name for step in steps if (name := text(step.get("model_name")))), "")


def _events(step: Object) -> list[Event]:
    if step.get("is_copied_context") is True:
        return []
    events: list[Event] = []
    speaker = _SPEAKERS.get(text(step.get("source")).lower())
    said = text_of(step.get("message"))
    if speaker is not None and said.strip():
        events.append(speaker(said))
    for call in objects(step.get("tool_calls")):
        name = name_of(first(call, ("function_name", "name")))
        events.append(
            Call(name, arguments_of(call.get("arguments")), text_id(call.get("tool_call_id")))
        )
    for result in objects(obj(step.get("observation")).get("results")):
        value = first(result, ("content", "subagent_trajectory_ref"))
        # Without a call it is something the environment said by itself; that is no step.
        if value is not None and (result.get("source_call_id") or step.get("tool_calls")):
            events.append(Result(result_of(value), text_id(result.get("source_call_id"))))
    return events


TRAJECTORY = Reader(
    name="atif",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"schema_version", "agent"}),
)
