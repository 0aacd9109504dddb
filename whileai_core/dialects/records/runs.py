"""A tree of model runs and tool runs, as tracing services keep it, to one conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import arguments_of, error_result, result_of
from whileai_core.dialects.records.histories import Thread, folded
from whileai_core.dialects.records.payloads import input_events, output_events
from whileai_core.dialects.records.shape import Object, count, decoded, obj
from whileai_core.rows import Row

RunKind: TypeAlias = Literal["model", "tool", "other"]


@dataclass(frozen=True, slots=True)
class Run:
    """One step of a trace: a call of the model, of a tool, or something around them."""

    id: str | None
    parent: str | None
    kind: RunKind
    name: str
    start: str
    input: Any = None
    output: Any = None
    error: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    call_id: str | None = None


def conversation(runs: Iterable[Run]) -> list[Event]:
    """Return what was asked, called, answered and said in one trace, in order.

    What the root took in and gave out decides about asks and the last word when it holds
    messages or text; calls come from whichever side tells of more.
    """
    ordered = sorted(runs, key=lambda run: run.start)
    parts = _parts(ordered)
    root = next((run for run in ordered if run.parent not in parts or run.parent is None), None)
    whole = _whole(root)
    pieced = _pieced(ordered)
    if not _has_ask(whole):
        return pieced if any(not isinstance(event, Instruct) for event in pieced) else whole
    if _complete(whole) and _calls(whole) >= _calls(pieced):
        return whole
    return _with_frame(pieced, whole)


def run_facts(runs: Iterable[Run]) -> Row:
    """Return model and token counts over the model runs that hold no other model run."""
    models = _innermost_models(list(runs))
    facts: Row = {}
    if name := next((run.model for run in models if run.model), None):
        facts["model"] = name
    counts = [(run.tokens_in, run.tokens_out) for run in models]
    if any(count(n) is not None for pair in counts for n in pair):
        facts["usage"] = {
            "input_tokens": sum(count(n) or 0 for n, _ in counts),
            "output_tokens": sum(count(n) or 0 for _, n in counts),
        }
    return facts


def _parts(runs: list[Run]) -> set[str | None]:
    return {run.id for run in runs}


def _whole(root: Run | None) -> list[Event]:
    thread = Thread()
    if root is not None and root.kind != "tool":
        thread.add_history(input_events(root.input))
        thread.add_history(output_events(root.output))
    return thread.events


def _pieced(ordered: list[Run]) -> list[Event]:
    thread = Thread()
    models = {id(run) for run in _innermost_models(ordered)}
    for run in ordered:
        if id(run) in models:
            thread.add_history(input_events(run.input) + output_events(run.output))
        elif run.kind == "tool":
            thread.add_tool_run(*_tool_events(run))
    return thread.events


def _innermost_models(runs: list[Run]) -> list[Run]:
    parents = {run.id: run.parent for run in runs}
    outer: set[str | None] = set()
    for run in runs:
        if run.kind == "model":
            above = run.parent
            while above is not None and above not in outer:
                outer.add(above)
                above = parents.get(above)
    return [run for run in runs if run.kind == "model" and run.id not in outer]


def _tool_events(run: Run) -> tuple[Call, Result | None]:
    given = _tool_input(run.input)
    call_id = run.call_id
    call = Call(run.name, given, call_id)
    value = _tool_value(run.output)
    if run.error is not None:
        value = error_result(run.error if value is None else value)
    return call, None if value is None else Result(value, call_id, run.name)


def _tool_input(payload: object) -> Object:
    given = arguments_of(payload)
    for key in ("args", "input"):
        # The whole call of the model {name, args, id}, or the arguments under one key.
        inner = given.get(key)
        if isinstance(inner, dict) and given.keys() <= {key, "name", "id", "type"}:
            return inner
    if not given and isinstance(payload, str) and payload.strip() not in ("", "{}", "null"):
        return {"input": payload}
    return given


def _tool_value(output: object) -> Any:
    value = decoded(output)
    if set(obj(value)) in ({"output"}, {"content"}):
        value = decoded(next(iter(value.values())))
    record = obj(value)
    if "tool_call_id" in record or record.get("type") in ("tool", "constructor"):
        for event in input_events([record]):
            if isinstance(event, Result):
                return event.value
    return result_of(value) if value not in ("", {}, []) else None


def _has_ask(events: list[Event]) -> bool:
    return any(isinstance(event, Ask) for event in events)


def _complete(events: list[Event]) -> bool:
    return bool(events) and isinstance(events[-1], Say)


def _calls(events: list[Event]) -> int:
    return sum(isinstance(event, Call) for event in events)


def _with_frame(pieced: list[Event], whole: list[Event]) -> list[Event]:
    """Keep of the asks those the root knows, and let the root have the last word."""
    asked = {folded(event.text) for event in whole if isinstance(event, Ask)}
    kept = [e for e in pieced if not isinstance(e, Ask) or folded(e.text) in asked]
    if not _has_ask(kept):
        kept = [event for event in whole if isinstance(event, Ask)] + kept
    kept = [event for event in whole if isinstance(event, Instruct)] + kept
    last = next((event for event in reversed(whole) if isinstance(event, Say)), None)
    said = next((event for event in reversed(kept) if isinstance(event, Say)), None)
    if last is not None and (said is None or folded(said.text) != folded(last.text)):
        kept.append(last)
    return kept
