"""mini-swe-agent: `.traj.json` files, format 1 (commands in fenced text) and 1.1/2 (tool calls)."""

from __future__ import annotations

import re
from typing import Any

from whileai_core.dialects.events import Call, Event, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import text_id, text_of
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_COMMAND = re.compile(r"```(?:bash|sh|mswea_bash_command)\s*\n(.*?)\n?```", re.DOTALL)
_RETURN_CODE = re.compile(r"<returncode>\s*(-?\d{1,9})\s*</returncode>")
_TOOL = "bash"


def _matches(value: object) -> bool:
    record = obj(value)
    if text(record.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    info = obj(record.get("info"))
    return isinstance(record.get("messages"), list) and "exit_status" in info


def _row(record: Object) -> Row | None:
    info = obj(record.get("info"))
    model = obj(obj(info.get("config")).get("model"))
    extra = kept(record, "instance_id") | present(
        exit_status=info.get("exit_status"),
        submission=info.get("submission"),
        model=text(model.get("model_name")),
        conversation_id=text_id(record.get("run_id")),
    )
    return row_from_events(_events(objects(record.get("messages"))), extra=extra)


def _events(messages: list[Object]) -> list[Event]:
    events: list[Event] = []
    acted = False
    for message in messages:
        role = message.get("role")
        said = text_of(message.get("content"))
        command = _COMMAND.search(said) if role == "assistant" else None
        if command is not None and not message.get("tool_calls"):
            thought = said[: command.start()].strip()
            events += [Say(thought)] if thought else []
            events.append(Call(_TOOL, {"command": command.group(1)}))
            acted = True
        elif role in ("user", "exit") and acted:
            events.append(Result(_outcome(said)))
            acted = False
        elif role != "exit":
            events += [_with_code(event) for event in events_of([message])]
    return events


def _with_code(event: Event) -> Event:
    if isinstance(event, Result) and isinstance(event.value, str):
        return Result(_outcome(event.value), event.id, event.name)
    return event


def _outcome(said: str) -> Any:
    """A failed command says so in its return code, which the row's reader looks for."""
    code = _RETURN_CODE.search(said)
    if code is None or int(code.group(1)) == 0:
        return said
    return {"returncode": int(code.group(1)), "output": said}


TRAJECTORY = Reader(
    name="mini-swe-agent",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"trajectory_format", "info"}),
)
