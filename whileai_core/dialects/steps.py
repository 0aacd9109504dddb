"""Events of a conversation into row steps: results find their calls here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages.values import name_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.rows import Row, Step


def row_from_events(events: Iterable[Event], *, extra: Row | None = None) -> Row:
    """Return a row: prompt, steps and final text, then `system` if instructed, then extras.

    Args:
        events: The conversation, in time order.
        extra: Further keys; they never replace the row's own.
    """
    listed = list(events)
    steps = steps_from_events(listed)
    asks = [event.text for event in listed if isinstance(event, Ask)]
    says = [event.text for event in listed if isinstance(event, Say)]
    row: Row = {
        "prompt": next((ask for ask in asks if ask.strip()), ""),
        "steps": steps,
        "final_text": says[-1] if says else "",
    }
    instructions = [event.text for event in listed if isinstance(event, Instruct)]
    if instructions:
        row["system"] = "\n".join(dict.fromkeys(instructions))
    for key, value in (extra or {}).items():
        row.setdefault(key, value)
    return row


def steps_from_events(events: Iterable[Event]) -> list[Step]:
    """Return the steps of a conversation, each result bound to its call."""
    steps: list[Step] = []
    binder = Binder(steps)
    for event in events:
        if isinstance(event, Call):
            binder.call(event)
        elif isinstance(event, Result):
            binder.result(event)
        elif isinstance(event, Ask):
            steps.append({"user": event.text})
        elif isinstance(event, Say):
            steps.append({"text": event.text})
    return steps


class Binder:
    """Binds results to calls while steps are appended to a list.

    A result goes to the call with its id (of several, to the first open one, its own tool's
    before others'); without one to the first open call of its tool, else to the first open call,
    else it becomes a step of its own, which its call takes over if it comes later. A repeat of a
    call that is still open, or of a result already bound, is left out.
    """

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._open: list[Step] = []
        self._by_id: dict[str, list[Step]] = {}
        self._early: dict[str, Step] = {}  # results that came before their calls

    def call(self, call: Call) -> None:
        """Append the step of a call."""
        step: Step = {"tool": call.name, "arguments": call.arguments}
        if call.id is not None:
            if (early := self._early.pop(call.id, None)) is not None:
                early |= step
                return
            named = self._by_id.get(call.id, [])
            for known in named:
                if _is_open(known) and _same_call(known, call):
                    known["arguments"] = known["arguments"] or call.arguments
                    return
            self._by_id[call.id] = [*filter(_is_open, named), step]
        self._steps.append(step)
        self._open.append(step)

    def result(self, result: Result) -> None:
        """Bind one result, or append it as a step."""
        named = self._by_id.setdefault(result.id, []) if result.id is not None else []
        step = _first([step for step in named or self._open if _is_open(step)], result.name)
        if step is not None:
            self._open = [other for other in self._open if other is not step]
        elif any(known["result"] == result.value for known in named):
            return
        else:  # says something new about an answered call: kept, but never on another call
            name = result.name or (named[-1]["tool"] if named else None)
            step = {"tool": name_of(name), "arguments": {}}
            self._steps.append(step)
            if result.id is not None and not named:
                self._early[result.id] = step
        if not named:
            named.append(step)
        step["result"] = result.value


def _first(steps: list[Step], name: str | None) -> Step | None:
    named = (step for step in steps if name and step["tool"] == name)
    return next(named, steps[0] if steps else None)


def _is_open(step: Step) -> bool:
    return "result" not in step


def _same_call(step: Step, call: Call) -> bool:
    if step["tool"] != call.name:
        return False
    return not call.arguments or not step["arguments"] or step["arguments"] == call.arguments
