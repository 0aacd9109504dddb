"""How a producer's data becomes rows, and the one guard around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from whileai_core import jsonio
from whileai_core.dialects.instants import instant
from whileai_core.rows import Row

# What broken data raises in code that reads it. Anything else is a fault of ours and goes up.
_BROKEN_DATA = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Unread(NamedTuple):
    """A conversation that is there but could not be read."""

    detail: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one dialect: of a single record, or of all records of a session file.

    Attributes:
        name: What `dialect` says on the rows.
        matches: A cheap look at one record (of a session: at the first records of a file);
            may raise on broken data, so ask `claims`.
        conversations: Splits the record (or the records of the file) into conversations.
        row: One conversation to its row; None when there is none in it after all.
        markers: Keys of which a record of this dialect has at least one; empty for sessions
            and for dialects whose records are no objects.
    """

    name: str
    matches: Callable[[Any], bool]
    conversations: Callable[[Any], Iterable[Any]]
    row: Callable[[Any], Row | None]
    markers: frozenset[str] = frozenset()

    def claims(self, value: object) -> bool:
        """Tell whether a record (the first records of a file) is of this dialect."""
        try:
            return self.matches(value)
        except _BROKEN_DATA:
            return False

    def read(self, value: object) -> Iterator[Row | Unread]:
        """Yield every conversation as a row, or as `Unread` when its data is broken.

        A broken conversation does not cost its neighbours.
        """
        parts = iter(self._parts(value))
        for part in parts:
            if isinstance(part, Unread):
                yield part
                continue
            try:
                row = self._row(part)
            except _BROKEN_DATA as error:
                yield Unread(_reason(error))
                continue
            if row is not None:
                yield row

    def rows(self, value: object) -> Iterator[Row]:
        """Yield the rows alone; never raises on broken data."""
        return (item for item in self.read(value) if not isinstance(item, Unread))

    def _row(self, part: object) -> Row | None:
        """Read one conversation; say its dialect, and the time as all rows do: in nanoseconds."""
        row = self.row(part)
        if row is None or not (row.get("prompt") or row.get("steps")):
            return None
        for key in ("prompt", "steps", "final_text"):
            row[key] = jsonio.strict(row[key])
        started = instant(row.pop("ts", None))
        if started:
            row["ts"] = started
        row["dialect"] = self.name
        return row

    def _parts(self, value: object) -> Iterator[Any]:
        try:
            yield from self.conversations(value)
        except _BROKEN_DATA as error:
            yield Unread(_reason(error))


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:200]
