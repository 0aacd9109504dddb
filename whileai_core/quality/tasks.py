"""Rows by task: which rows are repeats of one situation, and how many of them passed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from whileai_core.errors import InputError
from whileai_core.quality.grades import label_of
from whileai_core.rows import task_key
from whileai_core.traces.intake import as_schema_row

if TYPE_CHECKING:
    from whileai_core.rows import Row

# The task's name, or the position of a row that is a task of its own.
Task: TypeAlias = str | int

_SAID = ("prompt", "steps", "final_text")
_NAMED = 5
_SHOWN_CHARACTERS = 80


def checked_rows(rows: object) -> list[Row]:
    """Return rows as a list.

    Raises:
        InputError: `rows` is no collection of objects; the first entry that is none is named.
    """
    if isinstance(rows, str | bytes | dict) or not isinstance(rows, Iterable):
        raise InputError(f"expected a list of rows, got {type(rows).__name__}")
    listed = list(rows)
    for position, row in enumerate(listed):
        if not isinstance(row, dict):
            raise InputError(
                f"row {position} is {type(row).__name__}, expected an object; "
                "load the file with load_traces first"
            )
    return listed


def task_of(row: Row, position: int) -> Task:
    """Return the task of a row: `scenario_id`, `task_id` or `prompt`, else its own position.

    Ids count as text, so that 7 and "7" are one task. Of a row that is chat and nothing else, the
    first ask is the prompt.
    """
    key = task_key(row)
    if key is None:
        key = task_key(as_read(row))
    return position if key is None else key


def as_read(row: Row) -> Row:
    """Return a row that says its ask, steps and reply; one that says none is read for them."""
    if any(key in row for key in _SAID):
        return row
    read = as_schema_row(row)
    if read is None or read is row:
        return row
    return {**row, **{key: read[key] for key in _SAID if key in read}}


@dataclass(slots=True)
class Group:
    """What is known of one task: its rows, how many are graded 0 or 1, how many passed."""

    rows: int = 0
    graded: int = 0
    passed: int = 0

    @property
    def rate(self) -> float:
        """Pass rate of a graded task."""
        return self.passed / self.graded

    @property
    def mixed(self) -> bool:
        """Whether some rows passed and some failed."""
        return 0 < self.passed < self.graded


@dataclass(slots=True)
class Tally:
    """Rows counted by task; `add` them one by one."""

    rows: int = 0
    groups: dict[Task, Group] = field(default_factory=dict)

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Tally:
        """Count rows."""
        tally = cls()
        for row in rows:
            tally.add(row)
        return tally

    def add(self, row: Row) -> None:
        """Count one row."""
        group = self.groups.setdefault(task_of(row, self.rows), Group())
        self.rows += 1
        group.rows += 1
        label = label_of(row)
        if label is not None:
            group.graded += 1
            group.passed += label

    @property
    def graded(self) -> dict[Task, Group]:
        """Tasks with at least one graded row, in the order they were met."""
        return {task: group for task, group in self.groups.items() if group.graded}


def named(tasks: Iterable[Task]) -> str:
    """Write the first few tasks of a list for a message."""
    listed = list(tasks)
    texts = [_shown(task) for task in listed[:_NAMED]]
    more = len(listed) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _shown(task: Task) -> str:
    if isinstance(task, int):
        return f"row {task}"
    return repr(task if len(task) <= _SHOWN_CHARACTERS else task[: _SHOWN_CHARACTERS - 1] + "…")
