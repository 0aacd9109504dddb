"""Data sets of function calls: xLAM's queries with their calls, Glaive's chats as one text."""

from __future__ import annotations

import re

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result
from whileai_core.dialects.messages.tagged import assistant_events
from whileai_core.dialects.messages.values import arguments_of, result_of
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, decoded, kept, obj, objects, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_TURN = re.compile(r"(?:\A|\n)\s*(USER|ASSISTANT|FUNCTION RESPONSE):")
_END = "<|endoftext|>"


def _calls(record: Object) -> list[Object]:
    calls = decoded(record.get("answers"))
    listed = objects(calls)
    named = all("name" in call and "arguments" in call for call in listed)
    return listed if named and isinstance(calls, list) and len(listed) == len(calls) else []


def _matches_query(value: object) -> bool:
    record = obj(value)
    return isinstance(record.get("query"), str) and "tools" in record and bool(_calls(record))


def _query_row(record: Object) -> Row | None:
    calls: list[Event] = [
        Call(text(c["name"]) or "tool", arguments_of(c["arguments"])) for c in _calls(record)
    ]
    asked: list[Event] = [Ask(record["query"])]
    return row_from_events(asked + calls, extra=kept(record, "id", "tools"))


def _matches_chat(value: object) -> bool:
    chat = obj(value).get("chat")
    return isinstance(chat, str) and {"USER", "ASSISTANT"} <= set(_TURN.findall(chat))


def _chat_row(record: Object) -> Row | None:
    told = text(record.get("system")).removeprefix("SYSTEM:").strip()
    events: list[Event] = [Instruct(told)] if told else []
    pieces = _TURN.split(record["chat"])[1:]
    for who, said in zip(pieces[::2], pieces[1::2], strict=True):
        events += _turn(who, said.replace(_END, "").strip())
    return row_from_events(events, extra=kept(record, "id"))


def _turn(who: str, said: str) -> list[Event]:
    if who == "USER":
        return [Ask(said)]
    if who == "FUNCTION RESPONSE":
        return [Result(result_of(said))]
    return assistant_events(said) if said else []


QUERIES = Reader(
    name="xlam",
    matches=_matches_query,
    conversations=lambda value: [value],
    row=_query_row,
    markers=frozenset({"answers"}),
)
CHATS = Reader(
    name="glaive",
    matches=_matches_chat,
    conversations=lambda value: [value],
    row=_chat_row,
    markers=frozenset({"chat"}),
)
