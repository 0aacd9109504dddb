"""LibreChat exports: messages as a tree (`children`), or as a list linked by `parentMessageId`.

The branch that is read is the last one: edited asks and regenerated replies come after what they
replace.
"""

from __future__ import annotations

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
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

_LISTS = ("messages", "messagesTree")


def _matches(value: object) -> bool:
    listed = head(first(obj(value), _LISTS))
    return any("messageId" in message and "isCreatedByUser" in message for message in listed)


def _row(record: Object) -> Row | None:
    branch = _branch(objects(first(record, _LISTS)))
    extra = present(
        conversation_id=text_id(record.get("conversationId")),
        title=text(record.get("title")),
        model=next(filter(None, (text(message.get("model")) for message in branch)), ""),
        ts=branch[0].get("createdAt"),
    )
    return row_from_events([e for message in branch for e in _events(message)], extra=extra)


def _branch(messages: list[Object]) -> list[Object]:
    """Return the messages from the first to the last, each the child of the one before."""
    branch: list[Object] = []
    level = messages
    if any(objects(message.get("children")) for message in messages):
        while level:
            branch.append(level[-1])
            level = objects(level[-1].get("children"))
        return branch
    by_id = {text(message.get("messageId")): message for message in messages}
    place: Object | None = messages[-1]
    while place is not None and len(branch) < len(messages):
        branch.append(place)
        place = by_id.get(text(place.get("parentMessageId")))
    return branch[::-1]


def _events(message: Object) -> list[Event]:
    said = text(message.get("text"))
    if message.get("isCreatedByUser") is True:
        return [Ask(said)]
    parts = objects(message.get("content"))
    events = [event for part in parts for event in _part(part)]
    return events or ([Say(said)] if said else [])


def _part(part: Object) -> list[Event]:
    kind = part.get("type")
    if kind == "tool_call":
        return _call(obj(part.get("tool_call")))
    said = text_of([part]) if kind == "text" else ""
    return [Say(said)] if said.strip() else []


def _call(body: Object) -> list[Event]:
    identity = text_id(body.get("id"))
    function = obj(body.get("function"))
    name = name_of(first(body, ("name",)) or function.get("name"))
    call = Call(name, arguments_of(first(body, ("args",)) or function.get("arguments")), identity)
    output = first(body, ("output",)) or function.get("output")
    return [call] if output is None else [call, Result(result_of(output), identity)]


CONVERSATION = Reader(
    name="librechat",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset(_LISTS),
)
