"""Two agents on the same tasks: how much better, and how sure."""

from __future__ import annotations

import pytest
import scipy  # its parts are loaded on use

from whileai_core.quality.pairs import paired_difference


def rows(rates: dict[str, str]) -> list[dict]:
    return [
        {"scenario_id": task, "reward": int(mark)}
        for task, marks in rates.items()
        for mark in marks
    ]


def test_the_difference_is_taken_task_by_task():
    before = rows({f"t{n}": "0011" for n in range(8)})
    after = rows({f"t{n}": "0111" for n in range(8)})
    found = paired_difference(before, after)
    assert (found["n_tasks"], found["before"], found["after"]) == (8, 0.5, 0.75)
    assert found["difference"] == pytest.approx(0.25)


def test_the_interval_is_students_where_tasks_differ():
    before = rows({f"t{n}": "0" * 20 for n in range(10)})
    after = rows({f"t{n}": "1" * 20 if n < 5 else "0" * 20 for n in range(10)})
    found = paired_difference(before, after)
    judge = scipy.stats.ttest_rel([1.0] * 5 + [0.0] * 5, [0.0] * 10).confidence_interval()
    assert found["ci95"] == pytest.approx([judge.low, judge.high], abs=1e-9)
    assert found["separated"]


def test_equal_changes_are_not_certain():
    before = rows({f"t{n}": "01" for n in range(6)})
    found = paired_difference(before, before)
    low, high = found["ci95"]
    assert low < -0.1 and high > 0.1 and not found["separated"]


def test_too_few_tasks_give_no_interval():
    before, after = rows({f"t{n}": "0" for n in range(5)}), rows({f"t{n}": "1" for n in range(5)})
    found = paired_difference(before, after)
    assert found["ci95"] is None and not found["separated"] and "6" in found["note"]


def test_only_tasks_graded_on_both_sides_count():
    before = [*rows({"a": "1", "b": "0"}), {"scenario_id": "c"}]
    after = rows({"b": "1", "c": "1", "d": "1"})
    found = paired_difference(before, after)
    assert (found["n_tasks"], found["difference"]) == (1, 1.0)
    assert paired_difference([], after)["difference"] is None
