"""What groups of rollouts tell a trainer: mixed ones do, unanimous ones do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from whileai_core.errors import InputError
from whileai_core.quality.grades import label_of
from whileai_core.quality.passrates import pass_rates
from whileai_core.quality.reports import Report
from whileai_core.quality.tasks import Group, Tally, Task, checked_rows, task_of

if TYPE_CHECKING:
    from whileai_core.rows import Row

DEFAULT_BAND = (0.2, 0.8)
_ORDERS = ("given", "hardest", "easiest")


class Groups(NamedTuple):
    """Graded tasks by what they tell; every task is in one of the first four lists."""

    single: list[Task]
    mixed: list[Task]
    all_zero: list[Task]
    all_one: list[Task]
    in_band: list[Task]


def checked_band(band: object) -> tuple[float, float]:
    """Return the lowest and highest pass rate a trainer wants.

    Raises:
        InputError: It is no pair of rates, or the first is above the second.
    """
    if isinstance(band, Sequence) and not isinstance(band, str) and len(band) == 2:
        low, high = band
        numbers = isinstance(low, int | float) and isinstance(high, int | float)
        if numbers and 0 <= low <= high <= 1:
            return float(low), float(high)
    raise InputError(f"band={band!r} must be two pass rates between 0 and 1, the lower one first")


def groups_by_signal(tally: Tally, band: tuple[float, float] = DEFAULT_BAND) -> Groups:
    """Sort graded tasks by what they tell."""
    groups = Groups([], [], [], [], [])
    for task, group in tally.graded.items():
        if group.graded == 1:
            groups.single.append(task)
        elif group.mixed:
            groups.mixed.append(task)
            if band[0] <= group.rate <= band[1]:
                groups.in_band.append(task)
        elif group.passed:
            groups.all_one.append(task)
        else:
            groups.all_zero.append(task)
    return groups


def group_signal(rows: object, lo: float = DEFAULT_BAND[0], hi: float = DEFAULT_BAND[1]) -> Report:
    """Return how many tasks are mixed, unanimous or single, and the pass rates over tasks.

    Args:
        rows: Graded rows; ungraded ones are left out.
        lo: Lowest pass rate of a mixed task that counts as in the band.
        hi: Highest one.

    Raises:
        InputError: `lo` and `hi` are no band, or `rows` is no list of rows.
    """
    return signal_of(Tally.of(checked_rows(rows)), checked_band((lo, hi)))


def signal_of(tally: Tally, band: tuple[float, float]) -> Report:
    """Return what `group_signal` returns, from rows counted already."""
    groups = groups_by_signal(tally, band)
    rates = pass_rates(tally)
    repeated = len(groups.mixed) + len(groups.all_zero) + len(groups.all_one)
    return Report(
        n_groups=repeated + len(groups.single),
        n_rows=rates["n_rows"],
        n_single=len(groups.single),
        n_mixed=len(groups.mixed),
        n_all_zero=len(groups.all_zero),
        n_all_one=len(groups.all_one),
        n_in_band=len(groups.in_band),
        mixed_rate=len(groups.mixed) / repeated if repeated else None,
        k=rates["k"],
        pass_at_1=rates["pass_at_1"],
        interval95=rates["interval95"],
        pass_pow_k=rates["pass_pow_k"],
        pass_pow_k_interval95=rates["pass_pow_k_interval95"],
        pass_at_k=rates["pass_at_k"],
        pass_at_k_interval95=rates["pass_at_k_interval95"],
        headroom=rates["headroom"],
    )


def select_for_rl(
    rows: object,
    lo: float = 0.0,
    hi: float = 1.0,
    order: str = "given",
) -> tuple[list[Row], Report]:
    """Return the graded rows of mixed tasks, and what was left out.

    Args:
        rows: Graded rows, several per task.
        lo: Lowest pass rate of a task that is kept.
        hi: Highest one.
        order: Order of the tasks: as `given`, `hardest` or `easiest` first.

    Returns:
        The rows (the same objects, a task's side by side unless the order is `given`) and a
        report: `n`, `n_selected`, `groups_selected`, `unanimous_groups_dropped` (single rows
        among them are in `single_groups_dropped`), `collapsed_groups_dropped` (tasks whose
        replies are all the same), `band_dropped`.

    Raises:
        InputError: `order` is unknown, `lo` and `hi` are no band, or `rows` is no list of rows.
    """
    listed = checked_rows(rows)
    low, high = checked_band((lo, hi))
    if order not in _ORDERS:
        raise InputError(f"order={order!r} is unknown; known: {', '.join(_ORDERS)}")
    tally = Tally.of(listed)
    members: dict[Task, list[Row]] = {}
    for position, row in enumerate(listed):
        if label_of(row) is not None:
            members.setdefault(task_of(row, position), []).append(row)
    report = Report(
        n=len(listed),
        n_selected=0,
        groups_selected=0,
        unanimous_groups_dropped=0,
        single_groups_dropped=0,
        collapsed_groups_dropped=0,
        band_dropped={"too_easy": 0, "too_hard": 0},
    )
    kept: list[Task] = []
    for task, group in tally.graded.items():
        reason = _reason_to_drop(group, members[task], low, high)
        if reason is None:
            kept.append(task)
        elif reason in report["band_dropped"]:
            report["band_dropped"][reason] += 1
        else:
            report[f"{reason}_groups_dropped"] += 1
    if order == "given":
        wanted = set(kept)
        selected = [
            row
            for position, row in enumerate(listed)
            if label_of(row) is not None and task_of(row, position) in wanted
        ]
    else:
        sign = 1 if order == "hardest" else -1
        kept.sort(key=lambda task: sign * tally.groups[task].rate)
        selected = [row for task in kept for row in members[task]]
    report["n_selected"], report["groups_selected"] = len(selected), len(kept)
    return selected, report


def _reason_to_drop(group: Group, rows: Sequence[Row], low: float, high: float) -> str | None:
    if group.graded == 1:
        return "single"
    if not group.mixed:
        return "unanimous"
    if _is_collapsed(rows):
        return "collapsed"
    if group.rate > high:
        return "too_easy"
    return "too_hard" if group.rate < low else None


def _is_collapsed(rows: Sequence[Row]) -> bool:
    """Tell whether all rows of a task did and said the same, so that labels are noise."""
    first = rows[0]
    if first.get("final_text") is None and first.get("steps") is None:
        return False
    return all(
        row.get("final_text") == first.get("final_text") and row.get("steps") == first.get("steps")
        for row in rows
    )
