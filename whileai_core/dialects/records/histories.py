"""Message lists that repeat one another, joined into one conversation.

Every model call carries the history so far. Each list is walked along the conversation known by
then: what is found at or after the present place is the same turn, what is not is new. So the
same short answer given twice ("yes", "yes") stays two turns, and a call that is reported in
several histories, or by a tool run as well, stays one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from whileai_core import jsonio
from whileai_core.dialects.events import Call, Event, Result


class _Turn(NamedTuple):
    """An event with what tells it from others: its id where it has one, else its content."""

    event: Event
    id: str | None
    content: tuple[Any, ...]

    def same(self, other: _Turn) -> bool:
        if self.content[0] != other.content[0]:
            return False
        if self.id is not None and other.id is not None:
            return self.id == other.id
        return self.content == other.content


class Thread:
    """One conversation under construction."""

    def __init__(self) -> None:
        self._turns: list[_Turn] = []
        self._seen: set[tuple[Any, ...]] = set()  # contents, and (kind, id) of all turns

    @property
    def events(self) -> list[Event]:
        """The conversation so far."""
        return [turn.event for turn in self._turns]

    def add_history(self, history: Iterable[Event]) -> None:
        """Add a message list, known turns and new ones mixed.

        New turns go before the known turn they stood before, or to the end.
        """
        place = 0
        new: list[_Turn] = []
        for turn in map(_turn, history):
            found = self._find(turn, place)
            if found is None:
                if not self._is_told(turn, new):
                    new.append(turn)
                continue
            self._insert(found, *new)
            place = found + len(new) + 1
            new = []
        self._insert(len(self._turns), *new)

    def add_tool_run(self, call: Call, result: Result | None) -> None:
        """Add a tool run: the result of a known call, or a call no message told of."""
        turn = _turn(call)
        calls = [i for i, known in enumerate(self._turns) if _is_of(known.event, Call, call.name)]
        unanswered = [i for i in calls if not self._answered(i)]
        alike = [i for i in unanswered if self._turns[i].same(turn)]
        if alike or (unanswered and call.id is None):
            self._answer((alike or unanswered)[0], result)
        elif not any(self._turns[i].same(turn) for i in calls):
            self._insert(len(self._turns), turn)
            self._answer(len(self._turns) - 1, result)

    def _insert(self, place: int, *turns: _Turn) -> None:
        self._turns[place:place] = turns
        for turn in turns:
            self._seen |= {turn.content, (turn.content[0], turn.id)}

    def _find(self, turn: _Turn, place: int) -> int | None:
        if not self._is_seen(turn):
            return None
        for index in range(place, len(self._turns)):
            if self._turns[index].same(turn):
                return index
        return None

    def _is_seen(self, turn: _Turn) -> bool:
        named = turn.id is not None and (turn.content[0], turn.id) in self._seen
        return named or turn.content in self._seen

    def _is_told(self, turn: _Turn, new: list[_Turn]) -> bool:
        """Tell whether a result is known though it stands elsewhere, or in another form.

        What a tool gave and what the model was shown of it can differ; a result that finds no
        open call of its tool is the same result again.
        """
        result = turn.event
        if not isinstance(result, Result):
            return False
        if self._find(turn, 0) is not None:
            return True
        if result.id is not None:
            return False
        known = [t.event for t in self._turns + new]
        calls = sum(_is_of(event, Call, result.name) for event in known)
        answers = sum(_is_of(event, Result, result.name) for event in known)
        return 0 < calls <= answers

    def _answered(self, index: int) -> bool:
        call = self._turns[index]
        if call.id is not None:
            return ("result", call.id) in self._seen
        return any(isinstance(t.event, Result) for t in self._turns[index + 1 : index + 2])

    def _answer(self, index: int, result: Result | None) -> None:
        call = self._turns[index].event
        if result is not None and isinstance(call, Call):
            answer = Result(result.value, call.id, call.name)
            self._insert(index + 1, _turn(answer))


def folded(text: str) -> str:
    """Return a text for comparing turns: lower case, white space collapsed."""
    return " ".join(text.lower().split())


def _turn(event: Event) -> _Turn:
    if isinstance(event, Call):
        return _Turn(event, event.id, ("call", event.name, _canonical(event.arguments)))
    if isinstance(event, Result):
        return _Turn(event, event.id, ("result", _canonical(event.value)))
    return _Turn(event, None, (type(event).__name__, folded(event.text)))


def _is_of(event: Event, kind: type[Call | Result], name: str | None) -> bool:
    return isinstance(event, kind) and (name is None or event.name in (name, None))


def _canonical(value: object) -> bytes:
    try:
        return jsonio.canonical(value)
    except (TypeError, ValueError, RecursionError):
        return repr(type(value)).encode()
