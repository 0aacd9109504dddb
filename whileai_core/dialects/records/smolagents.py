"""smolagents: the steps of an agent's memory, as a list, as lines, or inside a run's result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import error_result, name_of, result_of, text_id
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import (
    Object,
    count,
    decoded,
    mostly,
    obj,
    objects,
    present,
    text,
)
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_TOKENS = ("input_tokens", "output_tokens")
_ANSWER = "final_answer"
_CODE = "python_interpreter"


def _is_action(value: object) -> bool:
    record = obj(value)
    return "step_number" in record and ("observations" in record or "action_output" in record)


def _is_step(value: object) -> bool:
    record = obj(value)
    return _is_action(record) or "task_images" in record or record.keys() == {"system_prompt"}


def _matches_list(head: Sequence[object]) -> bool:
    return mostly(head, _is_step) and any(map(_is_action, head))


def _matches(value: object) -> bool:
    return any(map(_is_action, objects(obj(value).get("steps"))))


def _row(steps: list[Object]) -> Row | None:
    events = [event for step in steps for event in _events(step)]
    started = (obj(step.get("timing")).get("start_time") for step in steps)
    extra = present(usage=_usage(steps), ts=next(filter(None, started), None))
    return row_from_events(events, extra=extra)


def _usage(steps: list[Object]) -> Object | None:
    told = [known for step in steps if (known := obj(step.get("token_usage")))]
    if not told:
        return None
    return {key: sum(count(known.get(key)) or 0 for known in told) for key in _TOKENS}


def _events(step: Object) -> list[Event]:
    if "task" in step:
        return [Ask(text(step["task"]))]
    if "system_prompt" in step:
        return [Instruct(text(step["system_prompt"]))]
    return _action_events(step) if _is_action(step) else []


def _action_events(step: Object) -> list[Event]:
    calls = [_call(call) for call in objects(step.get("tool_calls"))]
    events: list[Event] = [call for call in calls if call.name != _ANSWER]
    outcome = _outcome(step)
    if events and outcome is not None:
        # All calls of a step are observed in one text: it stands with the last of them.
        last = [call for call in calls if call.name != _ANSWER][-1]
        events.append(Result(outcome, last.id, last.name))
    answered = [call.arguments for call in calls if call.name == _ANSWER]
    if answered or step.get("is_final_answer"):
        given = step.get("action_output")
        if given is None and answered:
            given = answered[0].get("answer")
        if given is not None:
            events.append(Say(given if isinstance(given, str) else jsonio.text(given)))
    return events


def _call(call: Object) -> Call:
    fields = obj(call.get("function")) or call
    name = name_of(fields.get("name"))
    given: Any = decoded(fields.get("arguments"))
    if not isinstance(given, dict):
        given = {} if given is None else {"code" if name == _CODE else "input": given}
    return Call(name, given, text_id(call.get("id")))


def _outcome(step: Object) -> Any:
    error = step.get("error")
    if error:
        return error_result(text(error) or text(obj(error).get("message")) or error)
    seen = step.get("observations")
    return None if seen is None else result_of(seen)


def _whole(steps: Iterable[object]) -> list[list[Object]]:
    return [[obj(step) for step in steps]]


RUN = Reader(
    name="smolagents",
    matches=_matches,
    conversations=lambda value: _whole(value["steps"]),
    row=_row,
    markers=frozenset({"steps"}),
)
STEPS = Reader(name="smolagents", matches=_matches_list, conversations=_whole, row=_row)
