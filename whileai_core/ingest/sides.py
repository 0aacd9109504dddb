"""Sides: which tasks are held out, the same on every night.

A task stays on the side where it first fell. Of the new tasks, a near copy of an earlier ask
follows it; the first task to show a new kind of flaw is held out; then tasks are drawn by their
hash until the share is reached, and near copies of what was drawn are drawn after it. Nothing
depends on the order of rows or files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.traces.leakage import drop_leaky_rows
from whileai_core.traces.nearcopies import near_copies
from whileai_core.traces.split import NOTHING_LEFT, flaw_kind
from whileai_core.traces.tasks import canonical_task

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.ingest.ledger import Ledger, Side
    from whileai_core.rows import Row
    from whileai_core.rowset import RowSet, RowSetStore

EMBEDDER = "ngram"  # tells template siblings from copies, which the word hash does not


@dataclass(frozen=True, slots=True)
class Assignment:
    """Every task of a night with its side.

    Attributes:
        tasks: Entries `{"task", "side", "ask", "rows", "new"}`, sorted by task.
        report: How tasks came to their sides, in numbers.
    """

    tasks: RowSet
    report: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sides:
    """The rows of a night by side.

    Attributes:
        train: The remainder without near copies of held-out asks; None when nothing is left.
        holdout: The held-out slice; None when it is empty.
        leaky: Rows left out of the remainder as near copies.
        changes: The sides of new tasks, for the ledger.
        report: The assignment's report with `leakage` added.
    """

    train: RowSet | None
    holdout: RowSet | None
    leaky: int
    changes: RowSet
    report: dict[str, Any]


@dataclass
class _Task:
    key: str
    ask: str
    rows: int = 0
    flaws: set[str] = field(default_factory=set)
    side: Side | None = None
    new: bool = True


def assign_sides(
    rows: RowSet,
    store: RowSetStore,
    ledger: Ledger,
    *,
    fraction: float,
    seed: int,
    threshold: float,
) -> Assignment:
    """Give every task of a night its side.

    Args:
        rows: The rows of the night.
        store: Where to put the assignment.
        ledger: Sides and asks of earlier nights.
        fraction: Share of the night's rows to hold out, reached to within one task.
        seed: Another seed draws other tasks.
        threshold: Similarity from which an ask is a near copy of another.
    """
    tasks = _tasks(rows)
    _keep_earlier(tasks, ledger)
    kept = sum(1 for task in tasks.values() if task.side)
    drawn = _follow_earlier(tasks, ledger, threshold)
    flawed = _hold_out_new_flaws(tasks)
    _fill(tasks, round(fraction * rows.rows), seed)
    drawn += _draw_near_copies(tasks, threshold)
    ordered = sorted(tasks.values(), key=lambda task: task.key)
    handle = store.write(
        {
            "task": task.key,
            "side": task.side or "train",
            "ask": task.ask,
            "rows": task.rows,
            "new": task.new,
        }
        for task in ordered
    )
    report = _report(ordered, fraction, kept=kept, flawed=flawed, drawn=drawn)
    return Assignment(handle, report)


def check_sides(
    rows: RowSet, assignment: Assignment, store: RowSetStore, ledger: Ledger, *, threshold: float
) -> Sides:
    """Leave near copies of anything held out, tonight or earlier, out of the remainder.

    Raises:
        StoreError: The store cannot be read or written.
    """
    tasks = list(assignment.tasks)
    held = [task["ask"] for task in tasks if task["side"] == "holdout"]
    held += [ask for _, side, ask in ledger.asks() if side == "holdout"]
    remainder = [
        {"task": task["task"], "prompt": task["ask"]} for task in tasks if task["side"] == "train"
    ]
    kept, leakage = drop_leaky_rows(remainder, held, threshold=threshold, embedder=EMBEDDER)
    clean = {task["task"] for task in kept}
    side_of = {
        task["task"]: task["side"]
        if task["side"] == "holdout" or task["task"] in clean
        else "leaky"
        for task in tasks
    }
    writers = {side: store.writer() for side in ("train", "holdout")}
    leaky = 0
    for row in rows:
        side = side_of[_task_of(row)]
        if side == "leaky":
            leaky += 1
        else:
            writers[side].add(row)
    train, holdout = writers["train"].close(), writers["holdout"].close()
    report = {**assignment.report, "leaky_rows": leaky, "leakage": leakage}
    if holdout.rows and not train.rows:
        report["warning"] = NOTHING_LEFT % holdout.rows
    return Sides(
        train if train.rows else None,
        holdout if holdout.rows else None,
        leaky,
        store.write(_side_changes(tasks)),
        report,
    )


def _side_changes(tasks: Iterable[dict[str, Any]]) -> Iterable[dict[str, Any]]:
    for task in tasks:
        if task["new"]:
            named = {name: task[name] for name in ("task", "side", "ask")}
            yield {"table": "sides", **named}


def _task_of(row: Row) -> str:
    return canonical_task(row) or f"row:{row['row_id']}"


def _tasks(rows: Iterable[Row]) -> dict[str, _Task]:
    tasks: dict[str, _Task] = {}
    for row in rows:
        key = _task_of(row)
        prompt = row.get("prompt")
        ask = prompt.strip() if isinstance(prompt, str) else ""
        task = tasks.setdefault(key, _Task(key, ask))
        # The same whichever row of the task comes first.
        task.ask = min(task.ask, ask) if task.ask and ask else task.ask or ask
        task.rows += 1
        kind = flaw_kind(row)
        if kind is not None:
            task.flaws.add(hashlib.sha256(repr(kind).encode("utf-8", "replace")).hexdigest())
    return tasks


def _keep_earlier(tasks: dict[str, _Task], ledger: Ledger) -> None:
    for key, side in ledger.sides().items():
        task = tasks.get(key)
        if task is not None:
            task.side, task.new = side, False


def _follow_earlier(tasks: dict[str, _Task], ledger: Ledger, threshold: float) -> int:
    """Put near copies of earlier asks on the side of those asks; held-out ones come first."""
    drawn = 0
    earlier = list(ledger.asks())
    sides: tuple[Side, ...] = ("holdout", "train")
    for side in sides:
        anchors = [ask for _, its_side, ask in earlier if its_side == side and ask]
        drawn += _draw(tasks, anchors, side, threshold)
    return drawn


def _hold_out_new_flaws(tasks: dict[str, _Task]) -> int:
    """Hold out the first new task (by hash) of each kind of flaw that is not held out yet."""
    seen = {flaw for task in tasks.values() if task.side == "holdout" for flaw in task.flaws}
    held = 0
    for task in sorted(_open(tasks), key=lambda task: _rank(task, 0)):
        if task.flaws - seen:
            seen |= task.flaws
            task.side = "holdout"
            held += 1
    return held


def _fill(tasks: dict[str, _Task], target: int, seed: int) -> None:
    reached = sum(task.rows for task in tasks.values() if task.side == "holdout")
    for task in sorted(_open(tasks), key=lambda task: _rank(task, seed)):
        if reached >= target:
            return
        task.side = "holdout"
        reached += task.rows


def _draw_near_copies(tasks: dict[str, _Task], threshold: float) -> int:
    """Draw near copies of held-out asks to their side, and near copies of those, to the end."""
    drawn = 0
    anchors = [task.ask for task in tasks.values() if task.side == "holdout" and task.ask]
    while anchors:
        before = {task.key for task in _open(tasks)}
        drawn += _draw(tasks, anchors, "holdout", threshold)
        after = {task.key for task in _open(tasks)}
        anchors = [tasks[key].ask for key in sorted(before - after)]
    return drawn


def _draw(tasks: dict[str, _Task], anchors: list[str], side: Side, threshold: float) -> int:
    candidates = sorted((task for task in _open(tasks) if task.ask), key=lambda task: task.key)
    if not candidates or not anchors:
        return 0
    copies = near_copies(
        [task.ask for task in candidates], anchors, threshold=threshold, embedder=EMBEDDER
    )
    for index in copies:
        candidates[index].side = side
    return len(copies)


def _open(tasks: dict[str, _Task]) -> list[_Task]:
    return [task for task in tasks.values() if task.side is None]


def _rank(task: _Task, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{task.key}".encode("utf-8", "surrogatepass")).hexdigest()


def _report(
    tasks: list[_Task], fraction: float, *, kept: int, flawed: int, drawn: int
) -> dict[str, Any]:
    held = [task for task in tasks if task.side == "holdout"]
    return {
        "tasks": len(tasks),
        "tasks_held_out": len(held),
        "rows": sum(task.rows for task in tasks),
        "rows_held_out": sum(task.rows for task in held),
        "fraction": fraction,
        "tasks_from_earlier_nights": kept,
        "tasks_held_out_for_a_new_flaw": flawed,
        "tasks_drawn_as_near_copies": drawn,
        "embedder": EMBEDDER,
    }
