"""The profile of a dataset: the numbers a trainer asks for, folded from its rows one at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.quality.grades import grade_of
from whileai_core.quality.intervals import (
    Interval,
    row_rate_interval,
    task_rate_interval,
    wilson_interval,
)
from whileai_core.quality.reports import Report
from whileai_core.quality.tasks import Group, Task, task_of
from whileai_core.traces.calls import tool_calls

if TYPE_CHECKING:
    from whileai_core.rows import Row

_PASS = 0.5
_DIGITS = 3
_LISTED_TASKS = 5000
_CHARACTERS_PER_TOKEN = 3
_TOKEN_COUNTS = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")
_GROUPED = 32  # mixed tasks below which a grouped method has little to learn from


@dataclass
class Profile:
    """Counts of rows, tasks, tools and tokens: `add` every row, then read `result`.

    Memory grows with the number of tasks, not with the rows.
    """

    rows: int = 0
    groups: dict[Task, Group] = field(default_factory=dict)
    _rows_with_tools: int = 0
    _tools: Counter[str] = field(default_factory=Counter)
    _tokens: Counter[int] = field(default_factory=Counter)
    _rows_with_usage: int = 0

    def add(self, row: object) -> None:
        """Count one row; a value that is no object counts as an ungraded task of its own."""
        content = row if isinstance(row, dict) else {}
        group = self.groups.setdefault(task_of(content, self.rows), Group())
        self.rows += 1
        group.rows += 1
        grade = grade_of(content)
        if grade is not None:
            group.graded += 1
            group.passed += grade >= _PASS
        names = [call.tool for call in tool_calls(content)]
        self._rows_with_tools += bool(names)
        self._tools.update(names)
        self._add_tokens(content)

    def result(self) -> Report:
        """Return the profile; rates have three decimals and are None where nothing is graded."""
        groups = list(self.groups.values())
        graded = sum(group.graded for group in groups)
        passed = sum(group.passed for group in groups)
        mixed = sum(group.mixed for group in groups)
        rated = [group for group in groups if group.graded]
        counts = [group.passed for group in rated], [group.graded for group in rated]
        return Report(
            rows=self.rows,
            graded=graded,
            pass_rate=_rate(passed, graded),
            pass_rate_interval95=_rounded(row_rate_interval(*counts)),
            pass_at_1=_rate(sum(group.rate for group in rated), len(rated)),
            pass_at_1_interval95=_rounded(task_rate_interval(*counts)),
            graded_tasks=len(rated),
            split={"pass": passed, "fail": graded - passed, "ungraded": self.rows - graded},
            tasks=len(groups),
            rows_per_task=_rate(self.rows, len(groups)),
            tasks_with_repeats=sum(group.graded > 1 for group in groups),
            mixed_tasks=mixed,
            mixed_fraction=_rate(mixed, len(groups)),
            support=_rate(sum(map(_signal, groups)), len(groups)),
            per_task=[
                _task_entry(task, group)
                for task, group in list(self.groups.items())[:_LISTED_TASKS]
            ],
            tool_use={
                "rows": self._rows_with_tools,
                "share": _rate(self._rows_with_tools, self.rows),
                "calls_per_row": _rate(self._tools.total(), self.rows),
                "by_tool": dict(sorted(self._tools.items(), key=lambda e: (-e[1], e[0]))),
            },
            tokens=self._token_use(),
            training=self._training(passed, graded, mixed),
        )

    def _training(self, passed: int, graded: int, mixed: int) -> dict[str, list[str]]:
        """Say what a trainer would refuse or warn about, by method."""
        groups = self.groups.values()
        found: dict[str, list[str]] = {"sft": [], "grouped": []}
        if graded > passed:
            found["sft"].append(f"refuse: {graded - passed} of {graded} graded rows fail")
        if mixed < _GROUPED:
            all_pass = sum(0 < g.graded == g.passed and g.graded > 1 for g in groups)
            all_fail = sum(g.graded > 1 and g.passed == 0 for g in groups)
            single = sum(g.graded == 1 for g in groups)
            found["grouped"].append(
                f"{'warn' if mixed else 'refuse'}: {mixed} mixed tasks ({all_pass} always pass, "
                f"{all_fail} always fail, {single} have one graded row; "
                f"{self.rows - graded} rows are ungraded)"
            )
        return found

    def _add_tokens(self, row: Row) -> None:
        used = _tokens_used(row.get("usage"))
        self._rows_with_usage += used > 0
        self._tokens[used or len(str(row)) // _CHARACTERS_PER_TOKEN] += 1

    def _token_use(self) -> dict[str, Any]:
        total = sum(tokens * rows for tokens, rows in self._tokens.items())
        measured = self.rows > 0 and self._rows_with_usage == self.rows
        return {
            "total": total,
            "mean": _rate(total, self.rows),
            "p50": self._token_percentile(50),
            "p95": self._token_percentile(95),
            "source": "usage" if measured else "estimate",
        }

    def _token_percentile(self, percent: int) -> int | None:
        """Return the nearest-rank percentile."""
        left = -(-self.rows * percent // 100)
        for tokens in sorted(self._tokens):
            left -= self._tokens[tokens]
            if left <= 0:
                return tokens
        return None


def profile_report(rows: Iterable[object]) -> Report:
    """Return the profile of rows; see `Profile` for rows that come in parts."""
    profile = Profile()
    for row in rows:
        profile.add(row)
    return profile.result()


def _task_entry(task: Task, group: Group) -> dict[str, Any]:
    return {
        "task": None if isinstance(task, int) else task,
        "n": group.rows,
        "graded": group.graded,
        "pass_rate": _rate(group.passed, group.graded),
        "interval95": _rounded(wilson_interval(group.passed, group.graded)),
    }


def _tokens_used(usage: object) -> int:
    counts = usage if isinstance(usage, dict) else {}
    total = counts.get("total_tokens")
    if type(total) is int:
        return total
    both = (counts.get(name) for name in _TOKEN_COUNTS)
    return sum(count for count in both if type(count) is int)


def _signal(group: Group) -> float:
    """Return how much a task can teach: 4p(1-p), 1 where half of its rows pass."""
    return 4 * group.rate * (1 - group.rate) if group.graded else 0.0


def _rate(count: float, of: int) -> float | None:
    return round(count / of, _DIGITS) if of else None


def _rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(limit, _DIGITS) for limit in interval]
