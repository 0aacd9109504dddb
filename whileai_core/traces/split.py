"""Held-out slices by task: the documented split, and one that holds over the nights."""

from __future__ import annotations

import hashlib
import logging
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.errors import InputError
from whileai_core.traces.behaviour import signature_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.faults import NO_FAULT, fault_of_row
from whileai_core.traces.intake import rows_with_items
from whileai_core.traces.labels import label_of
from whileai_core.traces.tasks import canonical_task
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.rows import Row
    from whileai_core.traces.behaviour import Signature, StepShape

_log = logging.getLogger(__name__)

_HASHED_CHARACTERS = 200

NOTHING_LEFT = (
    "every task shows a failure of its own kind, so all %d rows are held out and nothing is left "
    "to train on; collect more traffic, or train on generated rows"
)

FlawKind = tuple[str, "Signature"]


class Split(NamedTuple):
    """Both sides of a split; each keeps the order of the rows."""

    production: list[Any]
    remainder: list[Any]


def split_pseudo_production(rows: object, *, fraction: float = 0.2, seed: object = 0) -> Split:
    """Hold out a slice by task; each distinct kind of failure is held out at least once.

    Whole tasks go to one side. Case and spacing of an ask make no new task. Which tasks are drawn
    depends on the order of the rows; a failure of a new kind is held out whatever the fraction,
    so that very varied failures can leave nothing to train on (logged as a warning).

    Args:
        rows: Rows as a list or iterator; items that are no objects are left out.
        fraction: Share of the rows to hold out, reached to within one task.
        seed: Draws other tasks.

    Returns:
        `(production, remainder)`: the held-out side and the rest, the same objects.

    Raises:
        InputError: `fraction` is no finite number.
        TypeError: `rows` holds no items (None, a number).
    """
    items: list[Any] = []
    readings: list[Row] = []
    for item, row in rows_with_items(rows):
        items.append(item)
        readings.append(row)
    tasks = _tasks(readings)
    held = _with_new_flaws(readings, tasks)
    _fill(held, readings, tasks, _target(fraction, len(items)), seed)
    production = [item for item, task in zip(items, tasks, strict=True) if task in held]
    remainder = [item for item, task in zip(items, tasks, strict=True) if task not in held]
    if production and not remainder and fraction < 1:
        _log.warning(NOTHING_LEFT, len(production))
    return Split(production, remainder)


def flaw_kind(row: Row, shared: dict[StepShape, StepShape] | None = None) -> FlawKind | None:
    """Return what tells a row's failure from others, or None when the row is not flawed.

    Args:
        row: The row.
        shared: As for `signature_of`.
    """
    fault = fault_of_row(row)
    if fault is None and label_of(row) != 0:
        return None
    return fault or NO_FAULT, signature_of(row, list(tool_calls(row)), shared)


def _tasks(rows: Iterable[Row]) -> list[str | int]:
    """Return each row's task; a row that is a task of its own is named by its position."""
    tasks: list[str | int] = []
    for position, row in enumerate(rows):
        task = canonical_task(row)
        tasks.append(position if task is None else task)
    return tasks


def _with_new_flaws(rows: list[Row], tasks: list[str | int]) -> set[str | int]:
    held: set[str | int] = set()
    seen: set[FlawKind] = set()
    shared: dict[StepShape, StepShape] = {}
    for row, task in zip(rows, tasks, strict=True):
        kind = flaw_kind(row, shared)
        if kind is not None and kind not in seen:
            seen.add(kind)
            held.add(task)
    return held


def _target(fraction: float, n: int) -> int:
    if not math.isfinite(fraction):
        raise InputError(f"fraction is {fraction}; give a finite number such as 0.2")
    return max(1, min(n, round(fraction * n))) if fraction > 0 and n else 0


def _fill(
    held: set[str | int], rows: list[Row], tasks: list[str | int], target: int, seed: object
) -> None:
    """Add whole tasks in the order of their hash until the target is reached."""
    size: dict[str | int, int] = {}
    first: dict[str | int, int] = {}
    for position, task in enumerate(tasks):
        size[task] = size.get(task, 0) + 1
        first.setdefault(task, position)
    reached = sum(size[task] for task in held)
    if reached >= target:
        return
    waiting = [task for task in first if task not in held]
    waiting.sort(key=lambda task: _draw(seed, first[task], rows[first[task]]))
    for task in waiting:
        if reached >= target:
            return
        held.add(task)
        reached += size[task]


def _draw(seed: object, position: int, row: Row) -> str:
    start = plain_text(row.get("prompt") or "")[:_HASHED_CHARACTERS]
    text = f"{seed}:{position}:{start}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
