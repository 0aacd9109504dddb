"""Anthropic managed agents: session events, as listed by the API or as a log of client calls.

A log line is `[call, payload]`. What a client sends comes back in the stream, so sent events
count only when the stream does not bring them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
from whileai_core.dialects.records.shape import Object, count, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_DOMAINS = ("user.", "agent.", "session.", "span.", "system.")
_CALLS = frozenset({"agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use"})
_RESULTS = frozenset({"agent.tool_result", "agent.mcp_tool_result", "user.custom_tool_result"})
_ANSWERED = ("tool_use_id", "mcp_tool_use_id", "custom_tool_use_id")


class _Session(NamedTuple):
    session: Object
    events: list[Object]


def _is_event(value: object) -> bool:
    record = obj(value)
    return text(record.get("type")).startswith(_DOMAINS) and (
        "processed_at" in record or "content" in record or "session_thread_id" in record
    )


def _is_call(value: object) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and isinstance(value[0], str)
        and "sessions" in value[0]
        and isinstance(value[1], dict | list)
    )


def _matches(head: Sequence[object]) -> bool:
    return mostly(head, _is_call) or mostly(head, _is_event)


def _matches_page(value: object) -> bool:
    events = obj(value).get("data")
    return isinstance(events, list) and bool(events) and all(map(_is_event, events[:3]))


def _sessions(lines: Iterable[object]) -> list[_Session]:
    """Tell sessions apart: sent events name theirs, streamed ones belong to the latest named."""
    sessions: dict[str, _Session] = {}
    current = ""
    for line in lines:
        if not _is_call(line):
            sessions.setdefault(current, _Session({}, [])).events.append(obj(line))
            continue
        payload = line[1] if isinstance(line, list) else None
        if isinstance(payload, list):  # sent: [session id, {"events": [...]}]
            current = text_id(payload[0]) or current if payload else current
            events = objects(obj(payload[-1]).get("events")) if payload else []
            sessions.setdefault(current, _Session({}, []))
            for event in events:
                sessions[current].events.append({"sent": True} | event)
        elif obj(payload).get("type") == "session":
            current = text_id(obj(payload).get("id")) or current
            sessions.setdefault(current, _Session(obj(payload), []))
        else:
            sessions.setdefault(current, _Session({}, [])).events.append(obj(payload))
    return [_Session(s.session, list(_once(s.events))) for s in sessions.values()]


def _once(events: list[Object]) -> Iterator[Object]:
    """Drop events delivered again, and sent events that the stream brings back."""
    seen: set[str] = set()
    echoed = [_content_key(e) for e in events if "sent" not in e]
    for event in events:
        if "sent" in event:
            key = _content_key(event)
            if key in echoed:
                echoed.remove(key)
                continue
        identity = text_id(event.get("id"))
        if identity is not None:
            if identity in seen:
                continue
            seen.add(identity)
        yield event


def _content_key(event: Object) -> tuple[object, ...]:
    return event.get("type"), text_of(event.get("content")), first(event, _ANSWERED)


def _row(part: _Session) -> Row | None:
    session, events = part
    agent = obj(session.get("agent"))
    counts = [obj(e.get("model_usage")) for e in events if "model_usage" in e]
    tokens = {
        key: sum(count(c.get(key)) or 0 for c in counts)
        for key in ("input_tokens", "output_tokens")
    }
    stamp = next((s for e in events if (s := text(e.get("processed_at")))), "")
    extra = present(
        conversation_id=text_id(session.get("id")),
        agent=text(agent.get("name")),
        model=text(obj(agent.get("model")).get("id")) or text(agent.get("model")),
        system=text(agent.get("system")),
        tools=agent.get("tools"),
        ts=text(session.get("created_at")) or stamp,
        usage=tokens if counts else None,
    )
    answered = {first(e, _ANSWERED) for e in events if e.get("type") in _RESULTS}
    return row_from_events([x for e in events for x in _events(e, answered)], extra=extra)


def _events(event: Object, answered: set[object]) -> list[Event]:
    kind = event.get("type")
    if kind in ("user.message", "agent.message"):
        said = text_of(event.get("content"))
        speaker = Ask if kind == "user.message" else Say
        return [speaker(said)] if said.strip() else []
    if kind in _CALLS:
        given = arguments_of(event.get("input"))
        return [Call(name_of(event.get("name")), given, text_id(event.get("id")))]
    if kind in _RESULTS:
        value = result_of(event.get("content"))
        if event.get("is_error") is True:
            value = error_result(value)
        return [Result(value, text_id(first(event, _ANSWERED)))]
    if kind == "user.tool_confirmation" and event.get("result") == "deny":
        if first(event, _ANSWERED) in answered:
            return []
        told = text(event.get("deny_message")) or "denied by the user"
        denied = error_result(told) | {"status": "denied"}
        return [Result(denied, text_id(first(event, _ANSWERED)))]
    return []


EVENTS = Reader(
    name="anthropic-managed-agents", matches=_matches, conversations=_sessions, row=_row
)
PAGE = Reader(
    name="anthropic-managed-agents",
    matches=_matches_page,
    conversations=lambda value: _sessions(obj(value)["data"]),
    row=_row,
    markers=frozenset({"data"}),
)
