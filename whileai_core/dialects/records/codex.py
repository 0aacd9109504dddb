"""OpenAI Codex: rollout files, old and new, and the event stream of `codex exec --json`.

A rollout holds Responses items (`response_item`) beside what the screen showed (`event_msg`);
the items are the conversation, and the shown texts stand in where a file has no messages. Before
the envelope existed, items stood bare after a first line with id and instructions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text, usage
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_ENVELOPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
})  # fmt: skip
_EXEC = frozenset({
    "thread.started", "turn.started", "turn.completed", "turn.failed", "item.started",
    "item.updated", "item.completed", "error",
})  # fmt: skip
_BARE = frozenset({
    "message", "reasoning", "function_call", "function_call_output", "local_shell_call",
    "custom_tool_call", "custom_tool_call_output", "web_search_call",
})  # fmt: skip
# What the program puts into the conversation as a user message.
_INJECTED = re.compile(
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted"
    r"|user_shell_command|INSTRUCTIONS|skill|subagent_notification|collaboration_mode)\b"
    r"|# AGENTS\.md instructions\b)"
)


class _Session(NamedTuple):
    meta: Object
    lines: list[Object]


def _matches(head: Sequence[object]) -> bool:
    if mostly(head, _is_enveloped):
        return True
    records = [obj(line) for line in head]
    if mostly(head, _is_exec):
        return "thread_id" in records[0] or any("item" in record for record in records)
    return bool(records) and _is_bare(records)


def _is_enveloped(value: object) -> bool:
    record = obj(value)
    return record.get("type") in _ENVELOPES and isinstance(record.get("payload"), dict)


def _is_exec(value: object) -> bool:
    return obj(value).get("type") in _EXEC


def _is_bare(records: list[Object]) -> bool:
    start, rest = records[0], records[1:]
    if "type" in start or "id" not in start or "timestamp" not in start or not rest:
        return False
    return mostly(rest, lambda r: obj(r).get("type") in _BARE or "record_type" in obj(r))


def _sessions(lines: Iterable[object]) -> list[_Session]:
    """Split at each session head, but not at heads a fork repeats of what it came from."""
    sessions: list[_Session] = []
    origins: set[object] = set()
    for line in map(obj, lines):
        head = _head(line, first_line=not sessions)
        if head is None:
            if not sessions:
                sessions.append(_Session({}, []))
            sessions[-1].lines.append(line)
            continue
        if not sessions or head.get("id") not in origins | {sessions[-1].meta.get("id")}:
            sessions.append(_Session(head, []))
            origins = set()
        origins |= {head.get("forked_from_id"), head.get("parent_thread_id")}
    return sessions


def _head(line: Object, *, first_line: bool) -> Object | None:
    kind = line.get("type")
    if kind == "session_meta":
        return obj(line.get("payload"))
    if kind == "thread.started":
        return {"id": line.get("thread_id")}
    return line if first_line and kind is None and "id" in line else None


def _row(session: _Session) -> Row | None:
    meta, lines = session
    items = [item for line in lines if (item := _item(line)) is not None]
    events = [event for item in items for event in _item_events(item)]
    spoken = [e for e in events if isinstance(e, Ask | Say)]
    if not spoken:
        events = _shown(lines, events)
    for line in lines:
        if "item" in line:
            events += _exec_events(line)
    extra = present(
        conversation_id=text_id(meta.get("id")),
        ts=text(meta.get("timestamp")),
        model=_model(lines),
        usage=_usage(lines),
        agent=text(first(meta, ("agent_nickname", "agent_role"))),
    )
    base = _instructions(meta)
    return row_from_events([Instruct(base), *events] if base else events, extra=extra)


def _item(line: Object) -> Object | None:
    if line.get("type") == "response_item":
        return obj(line.get("payload"))
    return line if line.get("type") in _BARE and "payload" not in line else None


def _item_events(item: Object) -> list[Event]:
    kind = item.get("type")
    if kind == "message":
        return [e for e in events_of([item]) if not _is_injected(e)]
    if kind == "local_shell_call":
        action = obj(item.get("action"))
        given = {k: v for k, v in action.items() if k != "type" and v is not None}
        return [Call("local_shell", given, text_id(first(item, ("call_id", "id"))))]
    if kind == "web_search_call" and "action" not in item:
        given = {k: item[k] for k in ("query", "domains") if k in item}
        return [Call("web_search", given, text_id(first(item, ("call_id", "id"))))]
    if kind == "tool_search_output":
        value = first(item, ("tools", "output"))
        return [Result(value, text_id(first(item, ("call_id", "id"))), "tool_search")]
    if kind == "tool_call":  # seen in files of other producers of this format
        function = obj(item.get("function"))
        called = name_of(first(item, ("name",)) or function.get("name"))
        given = arguments_of(first(item, ("arguments",)) or function.get("arguments"))
        return [Call(called, given, text_id(first(item, ("call_id", "id"))))]
    if kind == "tool_result":
        value = result_of(first(item, ("result", "output", "content")))
        name = text(item.get("name")) or None
        return [Result(value, text_id(first(item, ("call_id", "id"))), name)]
    return [_unwrapped(event) for event in events_of([item])]


def _unwrapped(event: Event) -> Event:
    """Shell output is wrapped with its metadata; a failure shows in the exit code."""
    if not isinstance(event, Result):
        return event
    value = obj(event.value)
    if isinstance(value.get("text"), str) and "type" in value:  # one block instead of a list
        return Result(result_of(value["text"]), event.id, event.name)
    code = obj(value.get("metadata")).get("exit_code")
    if code is None and isinstance(value.get("content"), str) and "success" in value:
        good = value["success"] is not False
        return Result(
            value["content"] if good else error_result(value["content"]), event.id, event.name
        )
    if not isinstance(value.get("output"), str) or not isinstance(code, int):
        return event
    told: Any = value["output"] if code == 0 else {"exit_code": code, "output": value["output"]}
    return Result(told, event.id, event.name)


def _is_injected(event: Event) -> bool:
    return isinstance(event, Ask | Instruct) and not _is_asked(event.text)


def _is_asked(said: str) -> bool:
    return bool(said.strip()) and _INJECTED.match(said) is None


def _shown(lines: list[Object], events: list[Event]) -> list[Event]:
    """Read the texts from the screen events, in their place among the calls."""
    if not any(line.get("type") == "event_msg" for line in lines):
        return events
    found: list[Event] = []
    for line in lines:
        payload = obj(line.get("payload"))
        said = text(payload.get("message"))
        if line.get("type") == "response_item":
            found += _item_events(payload)
        elif payload.get("type") == "user_message" and _is_asked(said):
            found.append(Ask(said))
        elif payload.get("type") == "agent_message" and said:
            found.append(Say(said))
    return found


def _model(lines: list[Object]) -> str:
    contexts = (obj(line.get("payload")) for line in lines if line.get("type") == "turn_context")
    return next((name for context in contexts if (name := text(context.get("model")))), "")


def _usage(lines: list[Object]) -> Object | None:
    """The last count is the total of the session; `exec` counts by turn."""
    total: Object = {}
    for line in lines:
        info = obj(obj(line.get("payload")).get("info"))
        total = obj(info.get("total_token_usage")) or obj(line.get("usage")) or total
    return usage(total.get("input_tokens"), total.get("output_tokens"))


def _instructions(meta: Object) -> str:
    base = meta.get("base_instructions")
    return text(obj(base).get("text")) or text(base) or text(meta.get("instructions"))


def _exec_events(line: Object) -> list[Event]:
    """Read an item of `codex exec --json`; it is complete when its last event comes."""
    item = obj(line.get("item"))
    kind = first(item, ("type", "item_type"))
    if line.get("type") != "item.completed":
        return []
    identity = text_id(item.get("id"))
    if kind in ("agent_message", "assistant_message") and text(item.get("text")):
        return [Say(item["text"])]
    if kind == "command_execution":
        return [
            Call("command_execution", {"command": item.get("command")}, identity),
            Result(_command_outcome(item), identity),
        ]
    if kind == "mcp_tool_call":
        call = Call(name_of(item.get("tool")), arguments_of(item.get("arguments")), identity)
        error = item.get("error")
        value = error_result(error) if error else result_of(item.get("result"))
        return [call, Result(value, identity)]
    if kind == "file_change":
        return [
            Call("file_change", {"changes": objects(item.get("changes"))}, identity),
            Result({"status": item.get("status")}, identity),
        ]
    if kind == "web_search":
        return [Call("web_search", {"query": item.get("query")}, identity)]
    return []


def _command_outcome(item: Object) -> Any:
    code = item.get("exit_code")
    output = item.get("aggregated_output")
    return output if code in (0, None) else {"exit_code": code, "output": output}


SESSION = Reader(name="codex", matches=_matches, conversations=_sessions, row=_row)
