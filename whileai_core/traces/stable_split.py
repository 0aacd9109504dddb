"""A split that holds over the nights: a task stays on the side where it first fell.

Nothing here depends on the order of rows or files. What was decided on earlier nights comes in as
mappings and what is decided tonight goes out as records; keeping them is the caller's business.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from whileai_core.errors import InputError
from whileai_core.traces.intake import rows_with_items
from whileai_core.traces.nearcopies import DEFAULT_THRESHOLD, near_copies, near_groups
from whileai_core.traces.split import NOTHING_LEFT, flaw_kind
from whileai_core.traces.tasks import fold, task_digest
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping


Side: TypeAlias = Literal["production", "remainder"]
Reason: TypeAlias = Literal["near_copy", "flaw", "drawn", "first"]

_HASH_RANGE = 1 << 64
_MUCH_MORE = 2  # times the share asked for: worth a note


class Decision(NamedTuple):
    """Where a new task fell tonight.

    Attributes:
        task: Its key (`tasks.task_digest`).
        side: `production` is held out, `remainder` is for training.
        reason: `near_copy` of a settled ask, a new kind of `flaw`, `drawn` by its hash, or the
            `first` task held out at all.
        asks: Its asks, case and spacing folded; anchors for later nights.
    """

    task: str
    side: Side
    reason: Reason
    asks: tuple[str, ...]


class StableSplit(NamedTuple):
    """Tonight's rows on both sides, and what to remember.

    Attributes:
        production: Held-out rows, in the order they came.
        remainder: The other rows, in the order they came.
        decisions: One record per task that was new, by task key.
        flaws: Kinds of failure that are held out for the first time.
        note: What a person should know about this split; None when all is ordinary.
    """

    production: list[Any]
    remainder: list[Any]
    decisions: list[Decision]
    flaws: list[str]
    note: str | None


class _Task:
    __slots__ = ("asks", "flaws")

    def __init__(self) -> None:
        self.asks: set[str] = set()
        self.flaws: set[str] = set()


_Tasks: TypeAlias = dict[str, _Task]
_Verdicts: TypeAlias = "dict[str, tuple[Side, Reason]]"


def stable_split(
    rows: object,
    *,
    fraction: float = 0.2,
    seed: object = 0,
    ledger_sides: Mapping[str, Side] | None = None,
    anchors: Iterable[tuple[str, Side]] = (),
    known_flaws: Collection[str] = (),
    threshold: float = DEFAULT_THRESHOLD,
    embedder: object = "ngram",
    flaw_limit: float = 1.0,
) -> StableSplit:
    """Split rows by task and keep every decision of earlier nights.

    A new task follows the nearest settled ask it is a near copy of; near copies among the new
    tasks stay together. Each kind of failure that was never held out sends one task to
    production. The rest is drawn by the hash of seed and task, so that the share is reached over
    the nights, not within each.

    Args:
        rows: Rows as a list or iterator; items that are no objects are left out.
        fraction: Share of the new tasks to hold out.
        seed: Draws other tasks.
        ledger_sides: Task key to side, from earlier nights.
        anchors: Asks of earlier nights with their sides (`Decision.asks`).
        known_flaws: Kinds of failure held out on earlier nights (`StableSplit.flaws`).
        threshold: Similarity from which two asks are near copies.
        embedder: As for `leakage_report`.
        flaw_limit: Largest share of the new tasks that new kinds of failure may hold out. The
            default keeps the rule whole; then very varied failures can leave nothing to train
            on, and `note` says so.

    Raises:
        InputError: `fraction` is not between 0 and 1, or a remembered side is unknown.
        TypeError: `rows` holds no items.
    """
    if not 0 <= fraction <= 1:
        raise InputError(f"fraction is {fraction}; give a share between 0 and 1")
    settled = _checked(ledger_sides or {})
    items, keys, tasks = _read(rows)
    sides: dict[str, Side] = {key: settled[key] for key in tasks if key in settled}
    new = sorted(key for key in tasks if key not in settled)

    places = [*anchors, *((ask, sides[key]) for key in sides for ask in tasks[key].asks)]
    verdicts = _followers(new, tasks, places, threshold, embedder)
    sides.update((key, side) for key, (side, _) in verdicts.items())

    groups = _groups([key for key in new if key not in verdicts], tasks, threshold, embedder)
    groups.sort(key=lambda group: _draw(seed, group))
    held = _held_flaws(sides, tasks) | set(known_flaws)
    verdicts |= _drawn(groups, tasks, held, fraction, seed, int(flaw_limit * len(new)))
    sides.update((key, side) for key, (side, _) in verdicts.items())
    if (
        fraction > 0
        and len(groups) > 1
        and "production" not in {*settled.values(), *sides.values()}
    ):
        verdicts.update(dict.fromkeys(groups[0], ("production", "first")))
        sides.update(dict.fromkeys(groups[0], "production"))

    production = [item for item, key in zip(items, keys, strict=True) if sides[key] == "production"]
    remainder = [item for item, key in zip(items, keys, strict=True) if sides[key] == "remainder"]
    return StableSplit(
        production,
        remainder,
        [Decision(key, *verdicts[key], tuple(sorted(tasks[key].asks))) for key in new],
        sorted(_held_flaws(sides, tasks) - set(known_flaws)),
        _note(len(production), len(remainder), verdicts, fraction),
    )


def _note(held: int, left: int, verdicts: _Verdicts, fraction: float) -> str | None:
    flaws = sum(reason == "flaw" for _, reason in verdicts.values())
    if held and not left and flaws:
        return NOTHING_LEFT % held
    if flaws and held > _MUCH_MORE * fraction * (held + left):
        return (
            f"{held} of {held + left} rows are held out, {flaws} tasks of them because each shows "
            "a new kind of failure; lower flaw_limit to keep more for training"
        )
    return None


def _checked(sides: Mapping[str, Side]) -> Mapping[str, Side]:
    for task, side in sides.items():
        if side not in ("production", "remainder"):
            raise InputError(f"task {task} has the side {side!r}; known: production, remainder")
    return sides


def _read(rows: object) -> tuple[list[Any], list[str], _Tasks]:
    items: list[Any] = []
    keys: list[str] = []
    tasks: _Tasks = {}
    for item, row in rows_with_items(rows):
        key = task_digest(row)
        items.append(item)
        keys.append(key)
        task = tasks.setdefault(key, _Task())
        ask = fold(plain_text(row.get("prompt")))
        if ask:
            task.asks.add(ask)
        kind = flaw_kind(row)
        if kind is not None:
            task.flaws.add(f"{kind[0]}:{kind[1].digest}")
    return items, keys, tasks


def _followers(
    new: list[str],
    tasks: _Tasks,
    anchors: list[tuple[str, Side]],
    threshold: float,
    embedder: object,
) -> _Verdicts:
    """Send tasks after the settled asks they are near copies of; a held-out one goes first."""
    asks = [(ask, key) for key in new for ask in sorted(tasks[key].asks)]
    anchors = sorted(set(anchors))
    near = near_copies(
        [ask for ask, _ in asks],
        [anchor for anchor, _ in anchors],
        threshold=threshold,
        embedder=embedder,
    )
    found: _Verdicts = {}
    for place, anchor in near.items():
        key, side = asks[place][1], anchors[anchor][1]
        if side == "production" or key not in found:
            found[key] = (side, "near_copy")
    return found


def _groups(
    keys: list[str], tasks: _Tasks, threshold: float, embedder: object
) -> list[tuple[str, ...]]:
    """Join tasks that have near-copied asks; keys are sorted in every group."""
    asks = sorted((ask, key) for key in keys for ask in tasks[key].asks)
    leaders = near_groups([ask for ask, _ in asks], threshold=threshold, embedder=embedder)
    root = {key: key for key in keys}

    def find(key: str) -> str:
        while root[key] != key:
            root[key] = key = root[root[key]]
        return key

    for (_, key), leader in zip(asks, leaders, strict=True):
        one, other = sorted((find(key), find(asks[leader][1])))
        root[other] = one
    members: dict[str, list[str]] = {}
    for key in keys:
        members.setdefault(find(key), []).append(key)
    return [tuple(group) for group in members.values()]


def _drawn(
    groups: list[tuple[str, ...]],
    tasks: _Tasks,
    held: set[str],
    fraction: float,
    seed: object,
    room: int,
) -> _Verdicts:
    """Draw groups by hash; new kinds of failure go to production while there is room."""
    verdicts: _Verdicts = {}
    for group in groups:
        flaws = set().union(*(tasks[key].flaws for key in group))
        verdict: tuple[Side, Reason] = ("remainder", "drawn")
        if flaws - held and len(group) <= room:
            verdict = ("production", "flaw")
            room -= len(group)
        elif _draw(seed, group) < fraction:
            verdict = ("production", "drawn")
        if verdict[0] == "production":
            held = held | flaws
        verdicts.update(dict.fromkeys(group, verdict))
    return verdicts


def _held_flaws(sides: Mapping[str, Side], tasks: _Tasks) -> set[str]:
    held: set[str] = set()
    for key, side in sides.items():
        if side == "production":
            held |= tasks[key].flaws
    return held


def _draw(seed: object, group: tuple[str, ...]) -> float:
    """Return a number in [0, 1) that depends on the seed and the group's first task alone."""
    digest = hashlib.sha256(f"{seed}:{group[0]}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / _HASH_RANGE
