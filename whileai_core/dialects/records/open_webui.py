"""Open WebUI chat exports: a tree of messages whose tool calls stand as HTML in the text.

The branch that ends in `currentId` is what the user saw last.
"""

from __future__ import annotations

import html
import re

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import arguments_of, name_of, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    decoded,
    obj,
    present,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_DETAILS = re.compile(r"<details type=\"(\w+)\"([^>]*)>.*?(?:</details>|\Z)", re.DOTALL)
_ATTRIBUTE = re.compile(r"(\w+)=\"([^\"]*)\"")


def _chat(record: Object) -> Object:
    return obj(record.get("chat")) or record


def _matches(value: object) -> bool:
    history = obj(_chat(obj(value)).get("history"))
    return "currentId" in history and isinstance(history.get("messages"), dict)


def _row(record: Object) -> Row | None:
    chat = _chat(record)
    branch = _branch(obj(chat["history"]))
    system = text(obj(chat.get("params")).get("system"))
    extra = present(
        conversation_id=text_id(record.get("id")) or text_id(chat.get("id")),
        title=text(record.get("title")) or text(chat.get("title")),
        ts=record.get("created_at") or chat.get("timestamp"),
        model=next(filter(None, (text(message.get("model")) for message in branch)), ""),
    )
    events: list[Event] = [Instruct(system)] if system else []
    return row_from_events(events + [e for m in branch for e in _events(m)], extra=extra)


def _branch(history: Object) -> list[Object]:
    messages = obj(history.get("messages"))
    name = text(history.get("currentId")) or next(reversed(messages), "")
    branch: list[Object] = []
    while name in messages and len(branch) < len(messages):
        branch.append(obj(messages[name]))
        name = text(branch[-1].get("parentId"))
    return branch[::-1]


def _events(message: Object) -> list[Event]:
    said = text(message.get("content"))
    if message.get("role") == "user":
        return [Ask(said)]
    if message.get("role") == "system":
        return [Instruct(said)] if said else []
    events: list[Event] = []
    place = 0
    for match in _DETAILS.finditer(said):
        events += _say(said[place : match.start()])
        place = match.end()
        if match[1] == "tool_calls":
            events += _call(dict(_ATTRIBUTE.findall(match[2])))
    return events + _say(said[place:])


def _say(said: str) -> list[Event]:
    return [Say(said.strip())] if said.strip() else []


def _call(attributes: dict[str, str]) -> list[Event]:
    """Read a call from attributes: arguments and result are JSON, escaped for HTML."""
    fields = {key: html.unescape(value) for key, value in attributes.items()}
    identity = text_id(fields.get("id"))
    call = Call(name_of(fields.get("name")), arguments_of(fields.get("arguments")), identity)
    if not fields.get("result"):
        return [call]
    return [call, Result(result_of(decoded(fields["result"])), identity)]


CHAT = Reader(
    name="open-webui",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"chat", "history"}),
)
