"""Kiro CLI (once Amazon Q Developer CLI): session lines, and its stored conversation object."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_KINDS = frozenset({
    "Prompt", "AssistantMessage", "ToolResults", "Compaction", "Clear", "ResetTo", "SystemPrompt",
})  # fmt: skip


def _is_line(value: object) -> bool:
    record = obj(value)
    return record.get("kind") in _KINDS and ("content" in record or "data" in record)


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_line)


def _row(lines: list[Object]) -> Row | None:
    read = [_body(line) for line in lines]
    stamp = next((s for line in read if (s := obj(line.get("meta")).get("timestamp"))), None)
    events = [event for line in read for event in _events(line)]
    return row_from_events(events, extra=present(ts=stamp))


def _body(line: Object) -> Object:
    """Newer files wrap the message: `{version, kind, data}`."""
    data = line.get("data")
    return {"kind": line.get("kind")} | data if isinstance(data, dict) else line


def _events(line: Object) -> list[Event]:
    kind = line.get("kind")
    blocks = objects(line.get("content"))
    events: list[Event] = []
    said = "\n".join(t for block in blocks if (t := _text(block)))
    if said and kind == "Prompt":
        events.append(Ask(said))
    elif said and kind == "AssistantMessage":
        events.append(Say(said))
    for block in blocks:
        data = obj(block.get("data"))
        if block.get("kind") == "toolUse":
            call_id = text_id(data.get("toolUseId"))
            events.append(Call(name_of(data.get("name")), arguments_of(data.get("input")), call_id))
        elif block.get("kind") == "toolResult":
            value = _value(data.get("content"))
            failed = text(data.get("status")).lower() == "error"
            value = error_result(value) if failed else value
            events.append(Result(value, text_id(data.get("toolUseId"))))
    return events


def _text(block: Object) -> str:
    return text(block.get("data")) if block.get("kind") == "text" else ""


def _value(content: object) -> Any:
    blocks = objects(content)
    if len(blocks) == 1 and blocks[0].get("kind") == "json":
        return blocks[0].get("data")
    if blocks and all("kind" in block for block in blocks):
        return result_of("\n".join(map(_text, blocks)))
    return result_of(content)


# The conversation object of the older program: a history of turns, each user and assistant.


def _is_stored(value: object) -> bool:
    turns = objects(obj(value).get("history"))
    return bool(turns) and "user" in turns[0] and "assistant" in turns[0]


def _stored_row(record: Object) -> Row | None:
    events: list[Event] = []
    for turn in objects(record.get("history")):
        events += _user_events(obj(obj(turn.get("user")).get("content")))
        events += _assistant_events(obj(turn.get("assistant")))
    extra = present(conversation_id=text_id(record.get("conversation_id")))
    return row_from_events(events, extra=extra)


def _user_events(content: Object) -> list[Event]:
    prompt = content.get("Prompt")
    said = text(prompt) or text(obj(prompt).get("prompt"))
    events: list[Event] = [Ask(said)] if said else []
    for kind in ("ToolUseResults", "CancelledToolUses"):
        results = content.get(kind)
        for result in objects(results) or objects(obj(results).get("tool_use_results")):
            value = [first(block, ("Text", "Json")) for block in objects(result.get("content"))]
            only = value[0] if len(value) == 1 else value
            failed = text(result.get("status")).lower() == "error"
            told = error_result(only) if failed else result_of(only)
            events.append(Result(told, text_id(result.get("tool_use_id"))))
    return events


def _assistant_events(message: Object) -> list[Event]:
    body = obj(first(message, ("ToolUse", "Response")))
    events: list[Event] = [Say(said)] if (said := text(body.get("content"))) else []
    for use in objects(body.get("tool_uses")):
        given = arguments_of(first(use, ("args", "orig_args")))
        events.append(Call(name_of(use.get("name")), given, text_id(use.get("id"))))
    return events


def _whole_file(lines: Iterable[object]) -> list[list[Object]]:
    return [[obj(line) for line in lines]]


SESSION = Reader(name="kiro", matches=_matches, conversations=_whole_file, row=_row)
STORED = Reader(
    name="kiro",
    matches=_is_stored,
    conversations=lambda value: [value],
    row=_stored_row,
    markers=frozenset({"history"}),
)
