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

    A result goes to the call with its id; without one to the first open call of its tool, else
    to the first open call, else it becomes a step of its own. A repeat of a call that is still
    open, or of a result already bound, is left out.
    """

    def __init__(self, steps: list[Step]) -> None:
        self._steps = steps
        self._open: list[Step] = []
        self._by_id: dict[str, Step] = {}

    def call(self, call: Call) -> None:
        """Append the step of a call."""
        if call.id is not None:
            known = self._by_id.get(call.id)
            if known is not None and _is_open(known) and _same_call(known, call):
                known["arguments"] = known["arguments"] or call.arguments
                return
        step: Step = {"tool": call.name, "arguments": call.arguments}
        self._steps.append(step)
        self._open.append(step)
        if call.id is not None:
            self._by_id[call.id] = step

    def result(self, result: Result) -> None:
        """Bind one result, or append it as a step."""
        known = self._by_id.get(result.id) if result.id is not None else None
        if known is None:
            step = self._first_open(result.name)
        elif _is_open(known):
            step = known
        elif known["result"] == result.value:
            return
        else:  # says something new about an answered call: kept, but never on another call
            step = None
        if step is None:
            name = result.name or (known["tool"] if known else None)
            step = {"tool": name_of(name), "arguments": {}}
            self._steps.append(step)
        else:
            self._open = [other for other in self._open if other is not step]
        step["result"] = result.value

    def _first_open(self, name: str | None) -> Step | None:
        named = (step for step in self._open if name and step["tool"] == name)
        return next(named, self._open[0] if self._open else None)


def _is_open(step: Step) -> bool:
    return "result" not in step


def _same_call(step: Step, call: Call) -> bool:
    if step["tool"] != call.name:
        return False
    return not call.arguments or not step["arguments"] or step["arguments"] == call.arguments
