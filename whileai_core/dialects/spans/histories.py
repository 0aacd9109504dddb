"""Histories that repeat: the text of one model call's input begins with the text of the last.

Only the longest text of such a row is kept, and each is parsed only where it goes on.
"""

from __future__ import annotations

from typing import Any

_SHORTEST = 64


class History:
    """Input messages as JSON text, a list; texts that begin alike share one store."""

    __slots__ = ("_length", "_store")

    def __init__(self, text: str) -> None:
        self._store = [text]
        self._length = len(text)

    @property
    def text(self) -> str:
        """The whole text."""
        longest = self._store[0]
        return longest if len(longest) == self._length else longest[: self._length - 1] + "]"

    def join(self, other: History) -> None:
        """Share the store of another history if one of the two goes on where the other ends."""
        mine, theirs = self._store[0], other._store[0]
        if len(mine) >= len(theirs):
            if mine.startswith(theirs[:-1]):
                other._store[0] = mine
                self._store = other._store
        elif theirs.startswith(mine[:-1]):
            self._store = other._store

    def goes_on_from(self, earlier: History, answer: Passage) -> bool:
        """Tell whether an earlier history and what the model answered then is how this begins."""
        store = self._store
        return (
            store is earlier._store
            and store is answer._store
            and earlier._length <= answer._start < answer._end < self._length
        )

    def after(self, earlier: History) -> str | None:
        """Return the messages that came since an earlier history, as text; None if it is none."""
        start, end = earlier._length - 1, self._length - 1
        if end < start:
            return None
        if self._store is not earlier._store and not self.text.startswith(earlier.text[:-1]):
            return None
        rest = self._store[0][start:end].strip()
        if not rest:
            return "[]"
        # A first message follows the bracket, every other one a comma.
        return f"[{rest.removeprefix(',')}]" if rest[0] == "," or start == 1 else None

    def passage(self, earlier: History, payload: str) -> Passage | None:
        """Return what a model gave after an earlier history as the passage where this repeats it.

        Args:
            earlier: A history that this one goes on from.
            payload: What the model gave then, JSON text of a list.
        """
        text, start = self._store[0], earlier._length - 1
        if self._store is not earlier._store or self._length <= earlier._length:
            return None
        start += 2 if text.startswith(", ", start) else 1
        end = start + len(payload) - 2
        is_list = payload[0] == "[" and payload[-1] == "]"
        if is_list and end < self._length and text.startswith(payload[1:-1], start):
            return Passage(self._store, start, end)
        return None


class Passage:
    """Messages as a passage of a history, of which no copy has to be kept."""

    __slots__ = ("_end", "_start", "_store")

    def __init__(self, store: list[str], start: int, end: int) -> None:
        self._store = store
        self._start = start
        self._end = end

    @property
    def text(self) -> str:
        """The passage as JSON text of a list."""
        return f"[{self._store[0][self._start : self._end]}]"


def history_of(payload: Any) -> History | None:
    """Return the history a payload is, or None when sharing it would not pay."""
    if type(payload) is not str or len(payload) < _SHORTEST:
        return None
    return History(payload) if payload[0] == "[" and payload[-1] == "]" else None
