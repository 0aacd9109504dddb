"""Stamps on rows: how often the student passes the row's task, with the interval and n."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whileai_core.quality.grades import label_of
from whileai_core.quality.intervals import wilson_interval
from whileai_core.quality.passrates import pass_rates
from whileai_core.quality.reports import StampedReport
from whileai_core.quality.tasks import Group, Tally, Task, checked_rows, task_of

if TYPE_CHECKING:
    from whileai_core.rows import Row

_DIGITS = 4


def calibrate(rows: object, policy: str | None = None, model: str | None = None) -> StampedReport:
    """Return how often each task is passed, and copies of the rows that say so.

    Every row with a label gets `calibration`: `task_id`, `student`, `n`, `pass_rate`, `mean_kl`
    and `pass_rate_ci95` (Wilson on the task's rows, four decimals). A stamp made from more rows
    is kept; only its student and `mean_kl` are brought up to date. The caller's rows are not
    changed.

    Args:
        rows: Rows, graded or not.
        policy: Name of the student.
        model: Its model, if the rows do not say.

    Returns:
        `n_tasks`, `n_rows`, `n_stamped`, `n_carried`, `n_unstamped`, `student`, `pass_at`; the
        stamped copies, in the order of the rows, are its attribute `rows`.

    Raises:
        InputError: `rows` is no list of rows.
    """
    listed = checked_rows(rows)
    return calibration_of(listed, Tally.of(listed), policy=policy, model=model)


def calibration_of(
    rows: Sequence[Row], tally: Tally, *, policy: str | None, model: str | None
) -> StampedReport:
    """Return what `calibrate` returns, for rows counted already."""
    student = _student(rows, policy, model)
    stamps: dict[Task, dict[str, Any]] = {}
    stamped: list[Row] = []
    graded = carried = 0
    for position, row in enumerate(rows):
        if label_of(row) is None:
            stamped.append(row)
            continue
        graded += 1
        task = task_of(row, position)
        stamp = stamps.get(task)
        if stamp is None:
            stamp = stamps[task] = _stamp(task, tally.groups[task], student)
        earlier = row.get("calibration")
        if isinstance(earlier, dict) and _is_from_more(earlier, stamp["n"]):
            carried += 1
            stamp = {**earlier, "student": student, "mean_kl": _mean_kl(row, earlier)}
        elif (mean_kl := _mean_kl(row, earlier)) is not None:
            stamp = {**stamp, "mean_kl": mean_kl}
        stamped.append({**row, "calibration": stamp})
    report = StampedReport(
        n_tasks=len(stamps),
        n_rows=len(rows),
        n_stamped=graded,
        n_carried=carried,
        n_unstamped=len(rows) - graded,
        student=student,
        pass_at=pass_rates(tally).to_dict(),
    )
    report.rows = stamped
    return report


def _stamp(task: Task, group: Group, student: dict[str, Any]) -> dict[str, Any]:
    low, high = wilson_interval(group.passed, group.graded) or (0.0, 1.0)
    return {
        "task_id": None if isinstance(task, int) else task,
        "student": student,
        "n": group.graded,
        "pass_rate": round(group.rate, _DIGITS),
        "mean_kl": None,
        "pass_rate_ci95": [round(low, _DIGITS), round(high, _DIGITS)],
    }


def _is_from_more(stamp: dict[str, Any], n: int) -> bool:
    earlier = stamp.get("n")
    return "pass_rate" in stamp and type(earlier) is int and earlier > n


def _mean_kl(row: Row, stamp: Any) -> Any:
    value = row.get("mean_kl")
    return stamp.get("mean_kl") if value is None and isinstance(stamp, dict) else value


def _student(rows: Sequence[Row], policy: str | None, model: str | None) -> dict[str, Any]:
    version = _shared(rows, "policy_version")
    prompt_hash = _shared(rows, "prompt_hash")
    if prompt_hash is None and isinstance(version, str) and "@" in version:
        prompt_hash = version.rpartition("@")[2]
    return {
        "name": policy or "",
        "model": model or _shared(rows, "model_version") or _shared(rows, "model"),
        "prompt_hash": prompt_hash,
        "version": version,
    }


def _shared(rows: Sequence[Row], key: str) -> Any:
    """Return the one text all rows that have `key` agree on, or None."""
    found = None
    for row in rows:
        value = row.get(key)
        if value is None:
            continue
        if not isinstance(value, str) or found not in (None, value):
            return None
        found = value
    return found
