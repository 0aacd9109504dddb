"""The conversation behind many spans: turns and calls that repeat are recognised, each kept once.

Model calls repeat the history so far; agents repeat what their model calls say; tool spans repeat
calls that messages name. Turns are matched by position, not by text: "yes" twice is two turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.spans.plain import names_only
from whileai_core.dialects.spans.sameness import differing_ids, same_arguments, says_more

if TYPE_CHECKING:
    from collections.abc import Sequence, Set

    from whileai_core.rows import Step


class _Known:
    """A call that is a step already."""

    __slots__ = ("answered", "id", "is_unnamed", "span", "step", "turn")

    def __init__(self, step: Step, call_id: str | None, turn: int, span: str) -> None:
        self.step = step
        self.id = call_id
        self.turn = turn
        self.span = span
        # Whether a tool span gave the result; what messages say comes second to that.
        self.answered = False
        # Whether only a result is known, which does not say of which tool.
        self.is_unnamed = False


class Place:
    """Where a history stands: its last turn, and the calls it named so far."""

    __slots__ = ("named", "turn")

    def __init__(self, turn: int, named: set[_Known] | None = None) -> None:
        self.turn = turn
        self.named = set() if named is None else named

    def copy(self) -> Place:
        """Return a place that can go another way."""
        return Place(self.turn, set(self.named))


class Transcript:
    """Prompt, steps and last reply of one conversation, built from its spans in time order.

    Args:
        span_ids: The call ids that tool spans will bring.
    """

    def __init__(self, span_ids: Set[str] = frozenset()) -> None:
        self._span_ids = span_ids
        self.prompt = ""
        self.steps: list[Step] = []
        self.final_text = ""
        self.instructions: list[str] = []
        self._turns: list[str] = []
        self._traces: set[str] = set()
        self._by_turn: dict[int, list[_Known]] = {}
        self._by_id: dict[str, list[_Known]] = {}
        self._by_span: dict[str, _Known] = {}
        # Calls of each tool that messages told and no span has claimed yet, in order.
        self._unclaimed: dict[str, dict[_Known, None]] = {}
        self._settled: set[str] = set()
        # Ids under which one message names a call, to those by which another one answers it.
        self._other_ids: dict[str, str] = {}

    def knows(self, message: Any) -> bool:
        """Tell whether a message says nothing but calls, and results, that spans have told whole.

        Such messages need not be read again; most messages of a long history are of this kind.
        """
        return names_only(message, self._settled)

    def said(self, before: list[Event], after: list[Event], trace: str) -> Place:
        """Take the messages of one span: those it was given and those it gave."""
        asks = [_key(event.text) for event in before if isinstance(event, Ask) and _has(event.text)]
        place = Place(self._aligned(asks, self._is_new_turn(before, trace)) - 1)
        if trace and asks:
            self._traces.add(trace)
        self._heard(before, place)
        if not asks:
            place.turn = len(self._turns) - 1
        self._spoken(after, place.copy())
        return place

    def goes_on(self, more: list[Event], after: list[Event], place: Place) -> bool:
        """Take a history that goes on where another one ended, and what the model gave then.

        Returns:
            Whether it could be taken; it cannot when turns came from elsewhere in between.
        """
        if not more and not after:
            return True
        asks_more = any(isinstance(event, Ask) for event in more)
        if asks_more and place.turn != len(self._turns) - 1:
            return False
        self._heard(more, place)
        self._spoken(after, place.copy())
        return True

    def _heard(self, events: list[Event], place: Place) -> None:
        self._other_ids |= differing_ids(events)
        self._answered_next(events)
        for event in events:
            if isinstance(event, Ask):
                if _has(event.text):
                    place.turn += 1
                    self._ask(event.text, place.turn)
            elif not isinstance(event, Say):
                self._tool_event(event, max(place.turn, 0), place.named)

    def _spoken(self, events: list[Event], place: Place) -> None:
        for event in events:
            if isinstance(event, Say):
                if event.text:
                    self.final_text = event.text
            elif not isinstance(event, Ask):
                self._tool_event(event, max(place.turn, 0), place.named)

    def delegated(self, events: list[Event]) -> None:
        """Take the messages of a span inside a tool call: the calls, nothing that was said."""
        named: set[_Known] = set()
        turn = max(len(self._turns) - 1, 0)
        for event in events:
            if isinstance(event, Call | Result):
                self._tool_event(event, turn, named)

    def ran(
        self,
        name: str,
        arguments: Any,
        result: Any,
        *,
        call_id: str | None,
        span: str,
        failed: bool,
        around: Sequence[str],
    ) -> Step:
        """Take one tool span and return its step.

        Args:
            name: The tool.
            arguments: As an object where they are one; None when not recorded.
            result: None when there was none.
            call_id: The id of the call, when the span has it.
            span: Id of the span.
            failed: Whether the result says that the call failed.
            around: Ids of the spans around this one.
        """
        known = self._known_call(name, arguments, result, call_id, around)
        if known is None:
            step: Step = {"tool": name, "arguments": {} if arguments is None else arguments}
            known = self._remember(step, call_id, max(len(self._turns) - 1, 0), span)
        else:
            self._call_it(known, name)
            self._claim(known, span)
            if says_more(arguments, known.step["arguments"]):
                known.step["arguments"] = arguments
        if result is not None or failed or "result" not in known.step:
            known.step["result"] = result
            known.answered = result is not None or failed
        told = known.step["arguments"]
        if call_id and known.answered and told and type(told) is not str:
            self._settled.add(call_id)
        return known.step

    # Turns

    def _ask(self, text: str, turn: int) -> None:
        if turn < len(self._turns):
            return
        self._turns.append(_key(text))
        if len(self._turns) == 1:
            self.prompt = text
        else:
            self.steps.append({"user": text})

    def _is_new_turn(self, before: list[Event], trace: str) -> bool:
        """Tell whether a history must bring a new turn.

        A trace is one turn or more. So the first history of another trace, if it ends with what
        the user says, says something new, even in the same words as before.
        """
        if not self._turns or not trace or trace in self._traces:
            return False
        spoken = [event for event in before if not isinstance(event, Instruct)]
        return bool(spoken) and isinstance(spoken[-1], Ask)

    def _aligned(self, asks: list[str], is_new: bool) -> int:
        """Return which known turn the first of these asks is."""
        known, n, m = self._turns, len(self._turns), len(asks)
        if not m:
            return n
        for offset in range(max(0, n - m + is_new), n):
            if known[offset:] == asks[: n - offset]:
                return offset
        if not is_new:
            for offset in range(n - m - 1, -1, -1):
                if known[offset : offset + m] == asks:
                    return offset
        # A history whose beginning was cut, summed up or rewritten still ends alike.
        if n:
            for place in range(m - 1 - is_new, -1, -1):
                if asks[place] == known[-1]:
                    return n - 1 - place
        return n

    # Calls

    def _tool_event(self, event: Event, turn: int, named: set[_Known]) -> None:
        if isinstance(event, Call):
            self._called(event, turn, named)
        elif isinstance(event, Result):
            self._answered(event, turn)
        elif isinstance(event, Instruct) and event.text not in self.instructions:
            self.instructions.append(event.text)

    def _called(self, call: Call, turn: int, named: set[_Known]) -> None:
        """Take a call in a message: one that is known is named by a history once."""
        known = next((known for known in self._alike(call, turn) if known not in named), None)
        if known is None:
            step: Step = {"tool": call.name, "arguments": call.arguments}
            known = self._remember(step, call.id, turn)
        else:
            self._call_it(known, call.name)
            if says_more(call.arguments, known.step["arguments"]):
                known.step["arguments"] = call.arguments
            if call.id and known.id is None:
                known.id = call.id
            self._name(known, call.id)
        self._name(known, self._other_ids.get(call.id or ""))
        named.add(known)

    def _alike(self, call: Call, turn: int) -> list[_Known]:
        for call_id in (call.id, self._other_ids.get(call.id or "")):
            same = [
                known
                for known in self._by_id.get(call_id or "", ())
                if same_arguments(known.step["arguments"], call.arguments)
            ]
            if same:
                return same
        return [
            known
            for known in self._by_turn.get(turn, ())
            if known.step["tool"] == call.name
            and (known.id is None or not call.id)
            and same_arguments(known.step["arguments"], call.arguments)
        ]

    def _answered(self, result: Result, turn: int) -> None:
        known = self._asker(result, turn)
        if known is None:
            if result.id or result.name:
                step: Step = {"tool": result.name or "tool", "arguments": {}}
                step["result"] = result.value
                self._remember(step, result.id, turn).is_unnamed = not result.name
        elif not known.answered and known.step.get("result") is None:
            known.step["result"] = result.value

    def _answered_next(self, events: list[Event]) -> None:
        """Bind results that come alone, under ids of their own, to the calls that wait for them.

        So they come where a request names the response before instead of repeating it.
        """
        results = [event for event in events if isinstance(event, Result) and event.id]
        if not results or any(isinstance(event, Ask | Call) for event in events):
            return
        waiting = [k for k in self._by_turn.get(len(self._turns) - 1, ()) if self._waits(k)]
        if len(waiting) == len(results) and not any(r.id in self._by_id for r in results):
            for known, result in zip(waiting, results, strict=True):
                self._name(known, result.id)

    def _asker(self, result: Result, turn: int) -> _Known | None:
        if result.id:
            same = self._by_id.get(result.id)
            if same:
                open_calls = [known for known in same if known.step.get("result") is None]
                return open_calls[0] if open_calls else same[-1]
        candidates = [
            known for known in self._by_turn.get(turn, ()) if known.id is None or not result.id
        ]
        if result.name:
            candidates = [known for known in candidates if known.step["tool"] == result.name]
        waiting = [known for known in candidates if known.step.get("result") is None]
        if waiting:
            return waiting[0]
        repeated = [known for known in candidates if known.step.get("result") == result.value]
        return repeated[0] if repeated else (candidates[-1] if candidates else None)

    def _known_call(
        self,
        name: str,
        arguments: Any,
        result: Any,
        call_id: str | None,
        around: Sequence[str],
    ) -> _Known | None:
        """Find the step of a tool span, if messages or another span of the same call made it."""
        for known in self._by_id.get(call_id, ()) if call_id else ():
            if not known.span or (
                known.step["tool"] == name and same_arguments(known.step["arguments"], arguments)
            ):
                return known
        best: _Known | None = None
        # Of nested spans of one tool one call was made, by two tracers.
        outer = [self._by_span[span] for span in around if span in self._by_span]
        nested = [known for known in outer if known.step["tool"] == name]
        for known in (*nested, *self._unclaimed.get(name, ())):
            if _can_be(known, arguments, result, call_id) or self._is_renamed(known, arguments):
                if self._waits(known):
                    best = known
                    break
                best = best or known
        if best is not None and call_id:
            best.id = best.id or call_id
            self._name(best, call_id)
        return best

    def _is_renamed(self, known: _Known, arguments: Any) -> bool:
        """Tell whether messages name a call by an id of their own, which no tool span has."""
        return (
            known.id is not None
            and known.id not in self._span_ids
            and (not arguments or known.step["arguments"] == arguments)
            and self._waits(known)
        )

    def _name(self, known: _Known, call_id: str | None) -> None:
        """Find a call by this id from now on."""
        if call_id:
            same = self._by_id.setdefault(call_id, [])
            if known not in same:
                same.append(known)

    def _call_it(self, known: _Known, tool: str) -> None:
        """Give a call its tool, if only its result was known."""
        if known.is_unnamed:
            self._unclaimed.get(known.step["tool"], {}).pop(known, None)
            known.step["tool"], known.is_unnamed = tool, False
            self._unclaimed.setdefault(tool, {})[known] = None

    def _claim(self, known: _Known, span: str) -> None:
        if not known.span and span:
            known.span = span
            self._by_span[span] = known
            self._unclaimed.get(known.step["tool"], {}).pop(known, None)

    def _waits(self, known: _Known) -> bool:
        """Tell whether a call of the present turn has no result yet."""
        return known.turn >= len(self._turns) - 1 and known.step.get("result") is None

    def _remember(self, step: Step, call_id: str | None, turn: int, span: str = "") -> _Known:
        known = _Known(step, call_id, turn, span)
        self.steps.append(step)
        self._by_turn.setdefault(turn, []).append(known)
        self._name(known, call_id)
        if span:
            self._by_span[span] = known
        else:
            self._unclaimed.setdefault(step["tool"], {})[known] = None
        return known


def _has(text: str) -> bool:
    return bool(text) and not text.isspace()


def _key(text: str) -> str:
    return " ".join(text.lower().split())


def _can_be(known: _Known, arguments: Any, result: Any, call_id: str | None) -> bool:
    """Tell whether a tool span can be a call that is known without its id."""
    if not same_arguments(known.step["arguments"], arguments):
        return False
    if not call_id:
        return True
    return known.id is None and known.step.get("result") in (None, result)
