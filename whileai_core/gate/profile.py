"""The trainer's numbers of a dataset, folded from its rows one at a time."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from whileai_core.rows import task_key

_PASS = 0.5
_DIGITS = 3
_LISTED_TASKS = 5000
_CHARACTERS_PER_TOKEN = 3
_TOKEN_COUNTS = ("input_tokens", "output_tokens", "prompt_tokens", "completion_tokens")


@dataclass
class _Task:
    rows: int = 0
    graded: int = 0
    passed: int = 0

    @property
    def pass_rate(self) -> float | None:
        return self.passed / self.graded if self.graded else None

    @property
    def mixed(self) -> bool:
        return 0 < self.passed < self.graded


@dataclass
class Profile:
    """Counts of rows, tasks, tools and tokens; `add` every row, then read `result`."""

    _tasks: dict[object, _Task] = field(default_factory=dict)
    _rows: int = 0
    _rows_with_tools: int = 0
    _tools: Counter[str] = field(default_factory=Counter)
    _tokens: list[int] = field(default_factory=list)
    _rows_with_usage: int = 0

    def add(self, row: object) -> None:
        """Count one row; a value that is no object counts as an ungraded task of its own."""
        self._rows += 1
        content = row if isinstance(row, dict) else {}
        key = task_key(content)
        task = self._tasks.setdefault(self._rows if key is None else key, _Task())
        task.rows += 1
        reward = content.get("reward")
        if isinstance(reward, int | float) and not isinstance(reward, bool):
            task.graded += 1
            task.passed += reward >= _PASS
        self._add_tools(content.get("steps"))
        self._add_tokens(content)

    def result(self) -> dict[str, Any]:
        """Return the profile; rates have three decimals and are null where nothing is graded."""
        tasks = self._tasks.values()
        graded = sum(task.graded for task in tasks)
        passed = sum(task.passed for task in tasks)
        mixed = sum(task.mixed for task in tasks)
        return {
            "rows": self._rows,
            "graded": graded,
            "pass_rate": _rate(passed, graded),
            "split": {
                "pass": passed,
                "fail": graded - passed,
                "ungraded": self._rows - graded,
            },
            "tasks": len(tasks),
            "rows_per_task": _rate(self._rows, len(tasks)),
            "tasks_with_repeats": sum(task.graded > 1 for task in tasks),
            "mixed_tasks": mixed,
            "mixed_fraction": _rate(mixed, len(tasks)),
            "support": _rate(sum(map(_signal, tasks)), len(tasks)),
            "per_task": self._per_task(),
            "tool_use": self._tool_use(),
            "tokens": self._token_use(),
        }

    def _per_task(self) -> list[dict[str, Any]]:
        listed = list(self._tasks.items())[:_LISTED_TASKS]
        return [
            {
                "task": key if isinstance(key, str) else None,
                "n": task.rows,
                "graded": task.graded,
                "pass_rate": _rate(task.passed, task.graded),
            }
            for key, task in listed
        ]

    def _add_tools(self, steps: object) -> None:
        names = [
            str(step["tool"])
            for step in (steps if isinstance(steps, list) else ())
            if isinstance(step, dict) and step.get("tool")
        ]
        self._rows_with_tools += bool(names)
        self._tools.update(names)

    def _tool_use(self) -> dict[str, Any]:
        return {
            "rows": self._rows_with_tools,
            "share": _rate(self._rows_with_tools, self._rows),
            "calls_per_row": _rate(self._tools.total(), self._rows),
            "by_tool": dict(self._tools.most_common()),
        }

    def _add_tokens(self, row: dict[str, Any]) -> None:
        used = _tokens_used(row.get("usage"))
        self._rows_with_usage += used > 0
        self._tokens.append(used or len(str(row)) // _CHARACTERS_PER_TOKEN)

    def _token_use(self) -> dict[str, Any]:
        ordered = sorted(self._tokens)
        measured = self._rows > 0 and self._rows_with_usage == self._rows
        return {
            "total": sum(ordered),
            "mean": _rate(sum(ordered), len(ordered)),
            "p50": _percentile(ordered, 50),
            "p95": _percentile(ordered, 95),
            "source": "usage" if measured else "estimate",
        }


def _tokens_used(usage: object) -> int:
    counts = usage if isinstance(usage, dict) else {}
    total = counts.get("total_tokens")
    if type(total) is int:
        return total
    both = (counts.get(name) for name in _TOKEN_COUNTS)
    return sum(count for count in both if type(count) is int)


def _signal(task: _Task) -> float:
    rate = task.pass_rate
    return 4 * rate * (1 - rate) if rate is not None else 0.0


def _rate(count: float, of: int) -> float | None:
    return round(count / of, _DIGITS) if of else None


def _percentile(ordered: list[int], percent: int) -> int | None:
    """Return the nearest-rank percentile."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)] if ordered else None
