"""SWE-agent: `.traj` files, with function calls or with actions in text, and published datasets.

In text mode an assistant message carries `thought` and `action`, and the next user message is
the observation, not an ask. Dataset rows hold the same messages under `trajectory` or `messages`
with the outcome (`target`, `resolved`) beside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import first, text_id
from whileai_core.dialects.records import labels
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

# Commands of the agent's own interface; everything else it runs is plain shell.
_COMMANDS = frozenset({
    "create", "edit", "exit_cost", "exit_format", "find_file", "goto", "insert", "open",
    "scroll_down", "scroll_up", "search_dir", "search_file", "str_replace_editor", "submit",
    "view_image",
})  # fmt: skip
_FENCED = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_OUTCOMES = ("target", "resolved")


def _matches(value: object) -> bool:
    record = obj(value)
    if objects(record.get("history")) and _speaks(record["history"]):
        return "action" in record or "trajectory" in record or _is_agents(record["history"])
    steps = objects(decoded(record.get("trajectory")))
    if steps and ("observation" in steps[0] and "action" in steps[0]):
        return True
    return "instance_id" in record and bool(
        steps or ("resolved" in record and "messages" in record)
    )


def _speaks(messages: list[object]) -> bool:
    return "role" in obj(messages[0])


def _is_agents(history: list[object]) -> bool:
    return any("agent" in m or "message_type" in m or "thought" in m for m in objects(history))


def _row(record: Object) -> Row | None:
    info = obj(record.get("info"))
    stats = obj(info.get("model_stats"))
    row = kept(record, "instance_id", "environment") | present(
        model=text(first(record, ("model", "model_name"))),
        exit_status=first(info, ("exit_status",)) or first(record, ("exit_status",)),
        usage=usage(stats.get("tokens_sent"), stats.get("tokens_received")),
        conversation_id=text_id(first(record, ("traj_id", "trajectory_id", "run_id"))),
    )
    for outcome in _OUTCOMES:
        if labels.binary(record.get(outcome)) is not None:
            labels.grade(row, record[outcome], outcome)
    return row_from_events(_events(record), extra=row)


def _events(record: Object) -> list[Event]:
    history = objects(record.get("history"))
    if history:
        return _from_messages(history)
    steps = objects(decoded(record.get("trajectory")))
    if steps and "action" in steps[0]:
        return _from_steps(steps)
    return _from_messages(steps or objects(decoded(record.get("messages"))))


def _from_messages(history: Iterable[Object]) -> list[Event]:
    events: list[Event] = []
    acted = False
    for message in history:
        if message.get("is_demo") is True or message.get("message_type") == "demonstration":
            continue
        action = text(message.get("action"))
        if message.get("role") == "assistant" and action and not message.get("tool_calls"):
            events += _action(message, action)
            acted = True
        elif acted and message.get("role") == "user":
            events.append(_observed(message))
            acted = False
        else:
            found = _in_text(message) or events_of([message])
            acted = not message.get("tool_calls") and _acts(found)
            events += found
    return events


def _observed(message: Object) -> Event:
    """Return the result in the user's place, without the word that announces it."""
    for event in events_of([message]):
        if isinstance(event, Result):
            return event
        if isinstance(event, Ask):
            return Result(event.text.removeprefix("OBSERVATION:").strip("\n"))
    return Result(None)


def _acts(events: list[Event]) -> bool:
    return any(isinstance(event, Call) for event in events)


def _in_text(message: Object) -> list[Event]:
    """Read the command of datasets that keep what the model wrote and no more, under `text`."""
    told = text(message.get("system_prompt"))
    if message.get("role") == "system" and told:
        return [Instruct(told)]
    said = text(message.get("text"))
    if message.get("role") not in ("ai", "assistant") or not said:
        return []
    commands = list(_FENCED.finditer(said))
    if not commands:
        return []
    thought = said[: commands[-1].start()].strip()
    return _action({"thought": thought}, commands[-1][1])


def _from_steps(steps: list[Object]) -> list[Event]:
    """Read the step list; the first step's `query` is what the agent was shown."""
    shown = steps[0].get("query") or steps[0].get("messages")
    events: list[Event] = [e for e in events_of(shown) if isinstance(e, Ask | Instruct)]
    for step in steps:
        events += _action(step, text(step.get("action")))
        if step.get("observation") is not None:
            events.append(Result(step["observation"]))
    return events


def _action(message: Object, action: str) -> list[Event]:
    thought = text(message.get("thought")).strip()
    said: list[Event] = [Say(thought)] if thought else []
    command = action.strip()
    if not command:
        return said
    word = command.split(maxsplit=1)[0]
    return [*said, Call(word if word in _COMMANDS else "bash", {"command": command})]


TRAJECTORY = Reader(
    name="swe-agent",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"history", "trajectory", "resolved"}),
)
