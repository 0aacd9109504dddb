"""Gemini CLI (and forks): session objects, their line form, and saved checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whileai_core.dialects.events import Ask, Call, Event, Result
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, count, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_AGENT = frozenset({"gemini", "model", "assistant", "qwen"})


class _Session(NamedTuple):
    record: Object
    messages: list[Object]


def _is_head(value: object) -> bool:
    record = obj(value)
    return "sessionId" in record and "projectHash" in record


def _matches(value: object) -> bool:
    return _is_head(value) and isinstance(obj(value).get("messages"), list)


def _matches_lines(head: Sequence[object]) -> bool:
    return bool(head) and _is_head(head[0]) and "messages" not in obj(head[0])


def _of_record(value: object) -> list[_Session]:
    return [_Session(obj(value), objects(obj(value).get("messages")))]


def _of_file(lines: Iterable[object]) -> list[_Session]:
    """Split at heads; a message written again under its id replaces what it was."""
    sessions: list[_Session] = []
    for line in map(obj, lines):
        if _is_head(line):
            sessions.append(_Session(line, []))
        elif sessions and "type" in line:
            _put(sessions[-1].messages, line)
        elif sessions and "$rewindTo" in line:
            _rewind(sessions[-1].messages, line["$rewindTo"])
    return sessions


def _put(messages: list[Object], line: Object) -> None:
    for index in range(len(messages) - 1, -1, -1):
        if line.get("id") is not None and messages[index].get("id") == line["id"]:
            messages[index] = line
            return
    messages.append(line)


def _rewind(messages: list[Object], identity: object) -> None:
    for index, message in enumerate(messages):
        if message.get("id") == identity:
            del messages[index:]
            return


def _row(session: _Session) -> Row | None:
    record, messages = session
    counts = [obj(m.get("tokens")) for m in messages if isinstance(m.get("tokens"), dict)]
    extra = present(
        conversation_id=text_id(record.get("sessionId")),
        ts=text(record.get("startTime")),
        model=next((name for m in messages if (name := text(m.get("model")))), ""),
        usage={
            "input_tokens": sum(count(c.get("input")) or 0 for c in counts),
            "output_tokens": sum(count(c.get("output")) or 0 for c in counts),
        }
        if counts
        else None,
    )
    return row_from_events([e for m in messages for e in _events(m)], extra=extra)


def _events(message: Object) -> list[Event]:
    kind = message.get("type")
    said = first(message, ("content", "parts", "message"))
    if kind == "user":
        asked = events_of([{"role": "user", "content": said}])
        return [e for e in asked if not (isinstance(e, Ask) and not _is_asked(e.text))]
    if kind not in _AGENT:  # info, error, warning: the program speaking
        return []
    events = events_of([{"role": "assistant", "content": said}])
    for call in objects(message.get("toolCalls")):
        identity = text_id(call.get("id"))
        made = Call(name_of(call.get("name")), arguments_of(call.get("args")), identity)
        events.append(made)
        value = _outcome(call)
        if value is not None:
            events.append(Result(value, identity, made.name))
    return events


def _is_asked(said: str) -> bool:
    # Slash commands and `?` steer the program.
    return bool(said.strip()) and not said.lstrip().startswith(("/", "?"))


def _outcome(call: Object) -> Any:
    found: Any = None
    results = call.get("result")
    for part in (
        events_of([{"role": "user", "parts": results}]) if isinstance(results, list) else []
    ):
        if isinstance(part, Result):
            found = part.value
            break
    if found is None:
        found = results if isinstance(results, str) else first(call, ("resultDisplay",))
    if call.get("status") in ("error", "cancelled"):
        return error_result(found)
    record = obj(found)
    return record["output"] if set(record) == {"output"} else found


SESSION = Reader(
    name="gemini-cli",
    matches=_matches,
    conversations=_of_record,
    row=_row,
    markers=frozenset({"projectHash"}),
)
LINES = Reader(name="gemini-cli", matches=_matches_lines, conversations=_of_file, row=_row)
