"""LM Studio conversations: each message has versions, and a reply of several steps its blocks."""

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
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, head, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _matches(value: object) -> bool:
    return any("currentlySelected" in message for message in head(obj(value).get("messages")))


def _row(record: Object) -> Row | None:
    told = text(record.get("systemPrompt"))
    versions = [_selected(message) for message in objects(record.get("messages"))]
    senders = (text(obj(v.get("senderInfo")).get("senderName")) for v in versions)
    extra = present(
        title=text(record.get("name")),
        ts=record.get("createdAt"),
        model=next(filter(None, senders), ""),
    )
    events: list[Event] = [Instruct(told)] if told else []
    return row_from_events(events + [e for v in versions for e in _events(v)], extra=extra)


def _selected(message: Object) -> Object:
    versions = objects(message.get("versions"))
    chosen = message.get("currentlySelected")
    if isinstance(chosen, int) and 0 <= chosen < len(versions):
        return versions[chosen]
    return versions[-1] if versions else {}


def _events(version: Object) -> list[Event]:
    if version.get("role") == "user":
        return [Ask(text_of(version.get("content")))]
    if version.get("role") == "system":
        return [Instruct(text_of(version.get("content")))]
    blocks = objects(version.get("content"))
    for step in objects(version.get("steps")):
        if obj(step.get("style")).get("type") != "thinking":
            blocks += objects(step.get("content"))
    return [event for block in blocks for event in _block(block)]


def _block(block: Object) -> list[Event]:
    kind = block.get("type")
    identity = text_id(first(block, ("callId", "toolCallId", "toolCallRequestId")))
    if kind == "toolCallRequest":
        given = first(block, ("parameters", "arguments"))
        return [Call(name_of(block.get("name")), arguments_of(given), identity)]
    if kind == "toolCallResult":
        return [Result(result_of(block.get("content")), identity)]
    said = text_of([block]).strip()
    return [Say(said)] if said else []


CONVERSATION = Reader(
    name="lm-studio",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"messages"}),
)
