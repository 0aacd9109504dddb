"""opencode: exported sessions, `{info, messages: [{info, parts}]}`, or the messages alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
)
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    count,
    mostly,
    obj,
    objects,
    present,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row


def _is_message(value: object) -> bool:
    record = obj(value)
    return "role" in obj(record.get("info")) and isinstance(record.get("parts"), list)


def _matches(value: object) -> bool:
    messages = obj(value).get("messages")
    return isinstance(messages, list) and bool(messages) and _is_message(messages[0])


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_message)


def _listed(values: Iterable[object]) -> list[Object]:
    return [{"messages": list(values)}]


def _row(session: Object) -> Row | None:
    about = obj(session.get("info"))
    messages = objects(session.get("messages"))
    infos = [obj(message.get("info")) for message in messages]
    counts = [obj(info.get("tokens")) for info in infos]
    told: list[object] = next(
        (info["system"] for info in infos if isinstance(info.get("system"), list)), []
    )
    extra = present(
        conversation_id=text_id(about.get("id")) or text_id(infos[0].get("sessionID")),
        title=text(about.get("title")),
        ts=obj(about.get("time")).get("created") or obj(infos[0].get("time")).get("created"),
        model=next(filter(None, (text(info.get("modelID")) for info in infos)), ""),
        system="\n".join(filter(None, map(text, told))),
        usage={
            "input_tokens": sum(count(c.get("input")) or 0 for c in counts),
            "output_tokens": sum(count(c.get("output")) or 0 for c in counts),
        }
        if any(counts)
        else None,
    )
    return row_from_events([e for message in messages for e in _events(message)], extra=extra)


def _events(message: Object) -> list[Event]:
    is_user = obj(message.get("info")).get("role") == "user"
    events: list[Event] = []
    for part in objects(message.get("parts")):
        if part.get("type") == "tool":
            events += _tool(part)
        elif part.get("type") == "text" and not part.get("synthetic") and not part.get("ignored"):
            said = text(part.get("text"))
            if said.strip():
                events.append(Ask(said) if is_user else Say(said))
    return events


def _tool(part: Object) -> list[Event]:
    state = obj(part.get("state"))
    identity = text_id(part.get("callID"))
    call = Call(name_of(part.get("tool")), arguments_of(state.get("input")), identity)
    if state.get("status") == "error":
        return [call, Result(error_result(state.get("error")), identity)]
    if "output" not in state:
        return [call]
    return [call, Result(result_of(state["output"]), identity)]


SESSION = Reader(
    name="opencode",
    matches=_matches,
    conversations=lambda value: [value],
    row=_row,
    markers=frozenset({"messages"}),
)
MESSAGES = Reader(name="opencode", matches=_matches_list, conversations=_listed, row=_row)
