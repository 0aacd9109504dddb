"""VS Code chat sessions (Copilot Chat): one object with `requests`, or a log of changes to it.

What the model called, with arguments and results, stands in `toolCallRounds` of the result's
metadata; sessions of other extensions tell of calls in the response alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import arguments_of, name_of, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_SNAPSHOT, _SET, _PUSH, _DELETE = range(4)
_DEEPEST_NODE = 40


def _matches(value: object) -> bool:
    record = obj(value)
    requests = record.get("requests")
    if not isinstance(requests, list) or "sessionId" not in record:
        return False
    return "responderUsername" in record or all("requestId" in obj(r) for r in requests[:3])


def _is_change(value: object) -> bool:
    record = obj(value)
    kind = record.get("kind")
    return (kind == _SNAPSHOT and "v" in record) or (kind in (1, 2, 3) and "k" in record)


def _matches_log(head: Sequence[object]) -> bool:
    return mostly(head, _is_change) and _matches(obj(head[0]).get("v"))


def _sessions(changes: Iterable[object]) -> Iterator[Object]:
    """Yield the session that the changes lead to."""
    state: Any = {}
    for change in map(obj, changes):
        if change.get("kind") == _SNAPSHOT:
            state = change.get("v")
        else:
            _apply(change, state)
    yield obj(state)


def _apply(change: Object, state: Any) -> None:
    """Make one change; one whose place is not there is passed over."""
    path = change.get("k")
    if not isinstance(path, list) or not path:
        return
    try:
        holder = state
        for key in path[:-1]:
            holder = holder[key]
        last = path[-1]
        if change["kind"] == _SET:
            holder[last] = change.get("v")
        elif change["kind"] == _DELETE:
            del holder[last]
        else:
            listed = holder[last]
            if isinstance(change.get("i"), int):
                del listed[change["i"] :]
            listed.extend(change.get("v") or [])
    except (KeyError, IndexError, TypeError, AttributeError):
        return


def _row(session: Object) -> Row | None:
    requests = objects(session.get("requests"))
    extra = present(
        conversation_id=text_id(session.get("sessionId")),
        ts=session.get("creationDate"),
        title=text(session.get("customTitle")),
        model=next(filter(None, (text(r.get("modelId")) for r in requests)), ""),
        agent=text(session.get("responderUsername")),
    )
    return row_from_events([e for request in requests for e in _turn(request)], extra=extra)


def _turn(request: Object) -> list[Event]:
    message = request.get("message")
    asked = message if isinstance(message, str) else text(obj(message).get("text"))
    metadata = obj(obj(request.get("result")).get("metadata"))
    rounds = objects(metadata.get("toolCallRounds"))
    shown = _shown(objects(request.get("response")))
    if not any(objects(one.get("toolCalls")) for one in rounds):
        return [Ask(asked), *shown]
    told = _rounds(rounds, obj(metadata.get("toolCallResults")))
    if not isinstance(told[-1], Say) and shown and isinstance(shown[-1], Say):
        told.append(shown[-1])
    return [Ask(asked), *told]


def _rounds(rounds: list[Object], results: Object) -> list[Event]:
    events: list[Event] = []
    for one in rounds:
        said = text(one.get("response")).strip()
        if said:
            events.append(Say(said))
        for call in objects(one.get("toolCalls")):
            identity = text_id(call.get("id"))
            events.append(
                Call(name_of(call.get("name")), arguments_of(call.get("arguments")), identity)
            )
            if identity in results:
                parts = obj(results[identity]).get("content")
                events.append(Result(result_of("\n".join(_texts(parts))), identity))
    return events


def _shown(response: list[Object]) -> list[Event]:
    """Read what was shown: texts between calls make one turn."""
    events: list[Event] = []
    said: list[str] = []
    for part in response:
        kind = part.get("kind")
        if kind == "toolInvocationSerialized":
            if "".join(said).strip():
                events.append(Say("".join(said).strip()))
            said = []
            events += _invocation(part)
        elif kind is None or kind == "markdownContent":
            said.append(_markdown(part.get("value") or part.get("content")))
        elif kind == "inlineReference":
            said.append(text(part.get("name")))
    if "".join(said).strip():
        events.append(Say("".join(said).strip()))
    return events


def _markdown(value: object) -> str:
    return value if isinstance(value, str) else text(obj(value).get("value"))


def _invocation(part: Object) -> list[Event]:
    identity = text_id(part.get("toolCallId"))
    details = obj(part.get("resultDetails"))
    call = Call(name_of(part.get("toolId")), arguments_of(details.get("input")), identity)
    command = obj(obj(part.get("toolSpecificData")).get("commandLine")).get("original")
    if not call.arguments and isinstance(command, str):
        call = call._replace(arguments={"command": command})
    output = "\n".join(_texts(details.get("output")))
    return [call, Result(result_of(output), identity)] if output else [call]


def _texts(value: object, depth: int = _DEEPEST_NODE) -> list[str]:
    """Return the texts of a result: plain, or in the nodes of a rendered prompt."""
    if isinstance(value, str):
        return [value]
    if depth == 0:
        return []
    if isinstance(value, list):
        return [found for item in value for found in _texts(item, depth - 1)]
    if not isinstance(value, dict):
        return []
    inner = [value[key] for key in ("text", "value", "node", "children") if key in value]
    return [found for item in inner for found in _texts(item, depth - 1)]


SESSION = Reader(
    name="vscode-chat",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"requests"}),
)
LOG = Reader(name="vscode-chat", matches=_matches_log, conversations=_sessions, row=_row)
