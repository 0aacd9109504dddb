"""Zed agent threads: `User` and `Agent` messages (0.3), or roles with segments (0.1, 0.2)."""

from __future__ import annotations

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
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
    for message in head(obj(value).get("messages")):
        return "User" in message or "Agent" in message or "segments" in message
    return False


def _row(thread: Object) -> Row | None:
    extra = present(
        title=text(first(thread, ("title", "summary"))),
        ts=thread.get("updated_at"),
        model=text(obj(thread.get("model")).get("model")),
    )
    events = [e for message in objects(thread.get("messages")) for e in _events(message)]
    return row_from_events(events, extra=extra)


def _events(message: Object) -> list[Event]:
    if "segments" in message:
        return _segments(message)
    asked = obj(message.get("User"))
    if asked:
        return [Ask(_text(asked.get("content")))]
    agent = obj(message.get("Agent"))
    answers = obj(agent.get("tool_results"))
    events: list[Event] = []
    for part in objects(agent.get("content")):
        said = text(part.get("Text"))
        call = obj(part.get("ToolUse"))
        if said.strip():
            events.append(Say(said))
        elif call:
            events += _call(call, obj(answers.get(str(call.get("id")))))
    return events


def _text(content: object) -> str:
    return "\n".join(filter(None, (text(part.get("Text")) for part in objects(content))))


def _call(use: Object, answer: Object) -> list[Event]:
    identity = text_id(use.get("id"))
    call = Call(name_of(use.get("name")), arguments_of(use.get("input")), identity)
    if not answer:
        return [call]
    content = answer.get("content")
    value = result_of(obj(content).get("Text", content))
    return [call, Result(error_result(value) if answer.get("is_error") else value, identity)]


def _segments(message: Object) -> list[Event]:
    said = text_of(message.get("segments"))
    if message.get("role") == "user":
        return [Ask(said)]
    answers = {answer.get("tool_use_id"): answer for answer in objects(message.get("tool_results"))}
    events: list[Event] = [Say(said)] if said.strip() else []
    for use in objects(message.get("tool_uses")):
        events += _call(use, obj(answers.get(use.get("id"))))
    return events


THREAD = Reader(
    name="zed",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"messages"}),
)
