"""τ-bench: `{task_id, reward, info, traj, trial}` records, and the results object of τ²."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from whileai_core.dialects.events import Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import error_result, first, text_id
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


class _Simulation(NamedTuple):
    record: Object
    info: Object


def _matches(value: object) -> bool:
    record = obj(value)
    if isinstance(record.get("traj"), list):
        return True
    if isinstance(record.get("simulations"), list):
        return True
    return _is_simulation(record)


def _is_simulation(record: Object) -> bool:
    return "reward_info" in record and "messages" in record and "termination_reason" in record


def _simulations(value: object) -> Iterator[_Simulation]:
    record = obj(value)
    if "simulations" not in record:
        yield _Simulation(record, {})
    for simulation in objects(record.get("simulations")):
        yield _Simulation(simulation, obj(record.get("info")))


def _row(part: _Simulation) -> Row | None:
    record, info = part
    messages = objects(first(record, ("traj", "messages")))
    events = [event for message in messages for event in _events(message)]
    agent = obj(info.get("agent_info"))
    row = kept(record, "task_id", "trial", "seed", "termination_reason") | present(
        conversation_id=text_id(record.get("id")),
        ts=text(first(record, ("start_time", "timestamp"))),
        model=text(first(agent, ("llm", "model"))),
        domain=text(obj(info.get("environment_info")).get("domain_name")),
        system=text(obj(info.get("environment_info")).get("policy")),
    )
    reward = obj(record.get("reward_info"))
    if "reward" in record:
        labels.grade(row, record["reward"], "reward")
    elif "reward" in reward:
        labels.grade(row, reward["reward"], "reward_info.reward")
    for name, value in obj(reward.get("reward_breakdown")).items():
        labels.score(row, name.lower(), value)
    return row_from_events(events, extra=row)


def _events(message: Object) -> list[Event]:
    """Return what a message says; tools the simulated user runs are not the agent's."""
    role = message.get("role")
    if role == "tool" and message.get("requestor") == "user":
        return []
    if role == "user":
        said = message.get("content")
        return events_of([{"role": "user", "content": said}]) if said else []
    if role == "tool" and "tool_call_id" not in message:
        message = message | {"tool_call_id": message.get("id")}
    events = events_of([message])
    if message.get("error") is True:
        return [
            Result(error_result(e.value), e.id, e.name) if isinstance(e, Result) else e
            for e in events
        ]
    return events


RECORDS = Reader(
    name="tau-bench",
    matches=_matches,
    conversations=_simulations,
    row=_row,
    markers=frozenset({"traj", "simulations", "reward_info"}),
)
