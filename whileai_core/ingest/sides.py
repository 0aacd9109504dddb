"""Sides: which tasks are held out, the same on every night.

A task stays on the side where it first fell. Of the new tasks, a near copy of an earlier ask
follows it; the first task to show a kind of flaw that was never held out is held out; then tasks
are drawn by their hash until the share is reached, and near copies of what was drawn are drawn
after it. Nothing depends on the order of rows or files.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.traces.embedders import TEMPLATE_AWARE
from whileai_core.traces.leakage import drop_leaky_rows
from whileai_core.traces.nearcopies import near_copies
from whileai_core.traces.split import flaw_kind
from whileai_core.traces.tasks import canonical_task, fold

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from whileai_core.ingest.ledger import Ledger, Side
    from whileai_core.rows import Row
    from whileai_core.rowset import RowSet, RowSetStore

FLAW_SHARE = 0.5  # new kinds of flaw may hold out this share of a night's rows and no more


@dataclass(frozen=True, slots=True)
class Assignment:
    """Every task of a night with its side.

    Attributes:
        tasks: Entries `{"task", "side", "asks", "flaws", "new"}`, sorted by task.
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
        changes: What the ledger has to remember: sides, asks and flaws held out.
        report: The assignment's report with `leaky_rows` and `leakage` added.
    """

    train: RowSet | None
    holdout: RowSet | None
    leaky: int
    changes: RowSet
    report: dict[str, Any]


@dataclass
class _Task:
    key: str
    rows: int = 0
    asks: dict[str, str] = field(default_factory=dict)  # folded → as written
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
        ledger: Sides, asks and flaws of earlier nights.
        fraction: Share of the night's rows to hold out, reached to within one task.
        seed: Another seed draws other tasks.
        threshold: Similarity from which an ask is a near copy of another.
    """
    tasks = _tasks(rows)
    report: dict[str, Any] = {
        "tasks": len(tasks),
        "rows": rows.rows,
        "fraction": fraction,
        "embedder": TEMPLATE_AWARE,
        "tasks_from_earlier_nights": _keep_earlier(tasks, ledger),
    }
    drawn = _follow_earlier(tasks, ledger, threshold)
    flawed, unheld = _hold_out_new_flaws(tasks, ledger.flaws(), FLAW_SHARE * rows.rows)
    _fill(tasks, round(fraction * rows.rows), seed)
    drawn += _draw_near_copies(tasks, threshold)
    held = [task for task in tasks.values() if task.side == "holdout"]
    report |= {
        "tasks_held_out": len(held),
        "rows_held_out": sum(task.rows for task in held),
        "tasks_held_out_for_a_new_flaw": flawed,
        "tasks_drawn_as_near_copies": drawn,
    }
    if unheld:
        report["warning"] = (
            f"{flawed + unheld} tasks show a kind of failure of their own; holding all of them "
            f"out would leave nothing or little to train on, so {unheld} of them are not held out"
        )
    return Assignment(store.write(_entries(tasks)), report)


def check_sides(
    rows: RowSet, assignment: Assignment, store: RowSetStore, ledger: Ledger, *, threshold: float
) -> Sides:
    """Leave near copies of anything held out, tonight or earlier, out of the remainder.

    Raises:
        StoreError: The store cannot be read or written.
    """
    side_of: dict[str, Side] = {}
    held = [ask for _, side, ask in ledger.asks() if side == "holdout"]
    remainder: list[str] = []
    for task in assignment.tasks:
        side_of[task["task"]] = task["side"]
        (held if task["side"] == "holdout" else remainder).extend(task["asks"])
    kept, leakage = drop_leaky_rows(remainder, held, threshold=threshold, embedder=TEMPLATE_AWARE)
    leaky_asks = {fold(ask) for ask in remainder} - {fold(ask) for ask in kept}
    writers = {side: store.writer() for side in ("train", "holdout")}
    leaky = 0
    for row in rows:
        side = side_of[_task_of(row)]
        if side == "train" and fold(_ask(row)) in leaky_asks:
            leaky += 1
        else:
            writers[side].add(row)
    train, holdout = writers["train"].close(), writers["holdout"].close()
    report = {**assignment.report, "leaky_rows": leaky, "leakage": leakage}
    if holdout.rows and not train.rows:
        report.setdefault("warning", "every task is held out; nothing is left to train on")
    return Sides(
        train if train.rows else None,
        holdout if holdout.rows else None,
        leaky,
        store.write(_changes(assignment.tasks)),
        report,
    )


def _entries(tasks: dict[str, _Task]) -> Iterator[dict[str, Any]]:
    for key in sorted(tasks):
        task = tasks[key]
        yield {
            "task": key,
            "side": task.side or "train",
            "asks": sorted(task.asks.values()),
            "flaws": sorted(task.flaws),
            "new": task.new,
        }


def _changes(tasks: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what the ledger has to remember of each task."""
    for task in tasks:
        named = {"task": task["task"], "side": task["side"]}
        if task["new"]:
            yield {"table": "sides", **named}
        for ask in task["asks"]:
            yield {"table": "asks", **named, "ask": ask}
        if task["side"] == "holdout":
            yield from ({"table": "flaws", "flaw": flaw} for flaw in task["flaws"])


def _task_of(row: Row) -> str:
    return canonical_task(row) or f"row:{row['row_id']}"


def _ask(row: Row) -> str:
    prompt = row.get("prompt")
    return prompt.strip() if isinstance(prompt, str) else ""


def _tasks(rows: Iterable[Row]) -> dict[str, _Task]:
    tasks: dict[str, _Task] = {}
    for row in rows:
        key = _task_of(row)
        task = tasks.setdefault(key, _Task(key))
        task.rows += 1
        ask = _ask(row)
        if ask:
            folded = fold(ask)
            # The same spelling whichever row comes first.
            task.asks[folded] = min(ask, task.asks.get(folded, ask))
        kind = flaw_kind(row)
        if kind is not None:
            task.flaws.add(f"{kind[0]}:{kind[1].digest}")
    return tasks


def _keep_earlier(tasks: dict[str, _Task], ledger: Ledger) -> int:
    kept = 0
    for key, side in ledger.sides(tasks).items():
        tasks[key].side, tasks[key].new = side, False
        kept += 1
    return kept


def _follow_earlier(tasks: dict[str, _Task], ledger: Ledger, threshold: float) -> int:
    """Put near copies of earlier asks on the side of those asks; held-out ones come first."""
    anchors: dict[Side, list[str]] = {"holdout": [], "train": []}
    for _, side, ask in ledger.asks():
        anchors[side].append(ask)
    return sum(_draw(tasks, asks, side, threshold) for side, asks in anchors.items())


def _hold_out_new_flaws(
    tasks: dict[str, _Task], known: Collection[str], room: float
) -> tuple[int, int]:
    """Hold out the first task (by hash) of each kind of flaw that was never held out.

    Returns:
        How many tasks were held out, and how many were not for lack of room.
    """
    seen = set(known)
    for task in tasks.values():
        if task.side == "holdout":
            seen |= task.flaws
            room -= task.rows
    held = unheld = 0
    for task in sorted(_open(tasks), key=lambda task: _rank(task, 0)):
        if not task.flaws - seen:
            continue
        seen |= task.flaws
        # A first one always finds room: a failure that is held out nowhere cannot be measured.
        if task.rows <= room or not held:
            task.side = "holdout"
            room -= task.rows
            held += 1
        else:
            unheld += 1
    return held, unheld


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
    anchors = [ask for task in tasks.values() if task.side == "holdout" for ask in _texts(task)]
    while anchors:
        before = {task.key for task in _open(tasks)}
        drawn += _draw(tasks, anchors, "holdout", threshold)
        gone = before - {task.key for task in _open(tasks)}
        anchors = [ask for key in sorted(gone) for ask in _texts(tasks[key])]
    return drawn


def _draw(tasks: dict[str, _Task], anchors: list[str], side: Side, threshold: float) -> int:
    """Put every open task with a near copy of an anchor among its asks on that side."""
    candidates = [(task, ask) for task in _open(tasks) for ask in _texts(task)]
    copies = near_copies(
        [ask for _, ask in candidates], anchors, threshold=threshold, embedder=TEMPLATE_AWARE
    )
    drawn = {candidates[place][0].key for place in copies}
    for key in drawn:
        tasks[key].side = side
    return len(drawn)


def _texts(task: _Task) -> list[str]:
    return sorted(task.asks.values())


def _open(tasks: dict[str, _Task]) -> list[_Task]:
    return [task for task in tasks.values() if task.side is None]


def _rank(task: _Task, seed: int) -> str:
    return hashlib.sha256(f"{seed}:{task.key}".encode("utf-8", "surrogatepass")).hexdigest()
