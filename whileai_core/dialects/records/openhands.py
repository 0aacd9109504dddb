"""OpenHands: event streams (files and `history` of evaluation output), old and new.

Up to version 1 an event is an action (`action`, `args`) or an observation (`observation`,
`content`, `cause`); the agent SDK since then writes events with a `kind`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    text_id,
    text_of,
)
from whileai_core.dialects.records import labels
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, kept, mostly, obj, objects, present, text
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

# Actions that are no doing of the agent.
_SILENT_ACTIONS = frozenset({
    "change_agent_state", "condensation", "condensation_request", "loop_recovery", "null", "pause",
    "recall", "resume", "start_hook", "task_tracking_view",
})  # fmt: skip
# The tool behind an action, as the model is offered it, when the event does not name it.
_TOOLS = {
    "run": "execute_bash",
    "run_ipython": "execute_ipython_cell",
    "browse_interactive": "browser",
    "browse": "browser",
    "edit": "str_replace_editor",
    "call_tool_mcp": "call_tool_mcp",
}
# Arguments the harness adds to the model's own.
_HARNESS_ARGUMENTS = frozenset({
    "thought", "hidden", "is_confirmed", "confirmation_state", "blocking", "cwd", "is_static",
    "security_risk", "impl_source", "kernel_init_code", "include_extra", "return_axtree",
})  # fmt: skip


class _Stream(NamedTuple):
    events: list[Object]
    record: Object


def _is_event(value: object) -> bool:
    record = obj(value)
    if isinstance(record.get("kind"), str) and "source" in record and "timestamp" in record:
        return True
    if "source" not in record and "cause" not in record and "message" not in record:
        return False
    return (isinstance(record.get("action"), str) and isinstance(record.get("args"), dict)) or (
        isinstance(record.get("observation"), str) and "content" in record
    )


def _matches(value: object) -> bool:
    record = obj(value)
    history = record.get("history") or record.get("events")
    if not isinstance(history, list) or not history:
        return False
    flat = list(_flat(history[:2]))
    return bool(flat) and all(_is_event(event) for event in flat)


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(list(_flat(head)), _is_event)


def _flat(history: Iterable[object]) -> Iterator[Object]:
    """Old outputs keep pairs of action and observation."""
    for item in history:
        if isinstance(item, dict):
            yield item
        elif isinstance(item, list):
            yield from objects(item)


def _of_record(value: object) -> list[_Stream]:
    record = obj(value)
    history = record.get("history") or record.get("events") or []
    return [_Stream(list(_flat(history)), record)]


def _of_file(values: Iterable[object]) -> list[_Stream]:
    return [_Stream(list(_flat(values)), {})]


def _row(stream: _Stream) -> Row | None:
    record = stream.record
    metadata = obj(record.get("metadata"))
    row = kept(record, "instance_id", "error") | present(
        agent=text(first(metadata, ("agent_class",))),
        model=text(obj(metadata.get("llm_config")).get("model")),
        ts=text(stream.events[0].get("timestamp")) if stream.events else "",
    )
    report = obj(obj(record.get("test_result")).get("report"))
    for source, value in (
        ("test_result.report.resolved", report.get("resolved")),
        ("report.resolved", obj(record.get("report")).get("resolved")),
        ("resolved", record.get("resolved")),
    ):
        if isinstance(value, bool):
            labels.grade(row, value, source)
    events: list[Event] = []
    if not any(_is_ask(event) for event in stream.events) and text(record.get("instruction")):
        events.append(Ask(record["instruction"]))
    for event in stream.events:
        events += _sdk_events(event) if "kind" in event else _old_events(event)
    return row_from_events(events, extra=row)


def _is_ask(event: Object) -> bool:
    return event.get("source") == "user" and (
        event.get("action") == "message" or event.get("kind") == "MessageEvent"
    )


# Events up to version 1.


def _old_events(event: Object) -> list[Event]:
    action = event.get("action")
    if isinstance(action, str):
        return _action(action, event)
    if isinstance(event.get("observation"), str):
        return _observation(event)
    return []


def _action(action: str, event: Object) -> list[Event]:
    args = obj(event.get("args"))
    if action == "system":
        said = text(args.get("content"))
        return [Instruct(said)] if said else []
    if action == "message":
        said = text(args.get("content")) or text(event.get("message"))
        if not said:
            return []
        return [Ask(said) if event.get("source") == "user" else Say(said)]
    if action in _SILENT_ACTIONS or event.get("source") == "user":
        return []
    call = _call(action, args, event)
    if action == "think":
        return [call]
    keys = ("final_thought", "thought") if action == "finish" else ("thought",)
    said = text(first(args, keys)).strip()
    if not said and action == "finish":
        said = text(event.get("message"))
    return [Say(said), call] if said else [call]


def _call(action: str, args: Object, event: Object) -> Call:
    told = obj(event.get("tool_call_metadata"))
    identity = text_id(told.get("tool_call_id"))
    name = text(told.get("function_name")) or text(args.get("name")) or _TOOLS.get(action, action)
    given = _as_the_model_wrote(told, identity)
    if given is None:
        given = {k: v for k, v in args.items() if k not in _HARNESS_ARGUMENTS and v is not None}
    return Call(name, given, identity or f"event-{event.get('id')}")


def _as_the_model_wrote(told: Object, identity: str | None) -> Object | None:
    for choice in objects(obj(told.get("model_response")).get("choices")):
        for call in objects(obj(choice.get("message")).get("tool_calls")):
            if text_id(call.get("id")) == identity:
                return arguments_of(obj(call.get("function")).get("arguments"))
    return None


def _observation(event: Object) -> list[Event]:
    told = obj(event.get("tool_call_metadata"))
    cause = event.get("cause")
    identity = text_id(told.get("tool_call_id"))
    if identity is None:
        if event["observation"] in ("agent_state_changed", "null", "recall", "system"):
            return []
        if isinstance(cause, bool) or not isinstance(cause, int):
            return []
        identity = f"event-{cause}"
    elif event["observation"] in ("agent_state_changed", "recall"):
        return []
    name = text(told.get("function_name")) or None
    return [Result(_outcome(event), identity, name)]


def _outcome(event: Object) -> Any:
    content = event.get("content")
    extras = obj(event.get("extras"))
    if event["observation"] in ("error", "user_rejected"):
        return error_result(content)
    code = first(extras, ("exit_code",))
    code = first(obj(extras.get("metadata")), ("exit_code",)) if code is None else code
    if isinstance(code, int) and not isinstance(code, bool) and code > 0:
        return {"exit_code": code, "output": content}
    return content


# Events of the agent SDK.


def _sdk_events(event: Object) -> list[Event]:
    kind = event["kind"]
    if kind == "SystemPromptEvent":
        said = text_of(event.get("system_prompt"))
        return [Instruct(said)] if said else []
    if kind == "MessageEvent":
        return events_of([obj(event.get("llm_message"))])
    if kind == "ActionEvent":
        return _sdk_action(event)
    if kind in ("ObservationEvent", "AgentErrorEvent", "UserRejectObservation"):
        return [_sdk_result(event)]
    return []


def _sdk_action(event: Object) -> list[Event]:
    told = obj(event.get("tool_call"))
    function = obj(told.get("function"))
    given = first(told, ("arguments",)) or function.get("arguments")
    action = {k: v for k, v in obj(event.get("action")).items() if k != "kind"}
    call = Call(
        name_of(first(event, ("tool_name",)) or told.get("name")),
        arguments_of(given) or action,
        text_id(first(event, ("tool_call_id", "id"))),
    )
    said = text_of(event.get("thought")).strip()
    if call.name == "finish":
        said = said or text(call.arguments.get("message"))
    return [Say(said), call] if said else [call]


def _sdk_result(event: Object) -> Result:
    identity = text_id(first(event, ("tool_call_id", "action_id")))
    name = text(event.get("tool_name")) or None
    if event["kind"] != "ObservationEvent":
        return Result(error_result(first(event, ("error", "rejection_reason"))), identity, name)
    seen = obj(event.get("observation"))
    value: Any = text_of(first(seen, ("content", "output", "message"))) or {
        k: v for k, v in seen.items() if k != "kind"
    }
    code = first(seen, ("exit_code",))
    if seen.get("is_error") is True:
        value = error_result(value)
    elif isinstance(code, int) and code > 0:
        value = {"exit_code": code, "output": value}
    return Result(value, identity, name)


OUTPUT = Reader(
    name="openhands",
    matches=_matches,
    conversations=_of_record,
    row=_row,
    markers=frozenset({"history", "events"}),
)
EVENTS = Reader(name="openhands", matches=_matches_list, conversations=_of_file, row=_row)
