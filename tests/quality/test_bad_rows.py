"""Rows nobody should send: each gets a clear answer or a clear error."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from rollouts import graded, rollouts

from whileai_core.errors import InputError
from whileai_core.quality import (
    calibrate,
    decontaminate,
    group_signal,
    hack_scan,
    pass_at,
    preview_report,
    profile_report,
    publish_gate,
    select_for_rl,
)

REPORTS: list[Callable[[Any], Any]] = [
    pass_at,
    group_signal,
    hack_scan,
    calibrate,
    publish_gate,
    profile_report,
    preview_report,
]
MIXED = {"a": "10", "b": "110"}


@pytest.mark.parametrize("report", REPORTS)
@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([], id="empty"),
        pytest.param([{"prompt": "a"}, {"prompt": "b", "reward": None}], id="ungraded"),
        pytest.param(graded({"a": "1011"}), id="one task"),
        pytest.param([{"reward": 1}, {"reward": 0}], id="no key at all"),
        pytest.param(
            [{"task_id": 7, "reward": 1}, {"task_id": "7", "reward": 0}], id="mixed types of ids"
        ),
        pytest.param(
            [{"task_id": ["x", 1], "reward": 1}, {"task_id": {"a": 2}, "reward": 0}], id="odd ids"
        ),
        pytest.param(
            [{"prompt": 5, "final_text": None, "steps": "none", "messages": 3, "usage": "many"}],
            id="wrong types",
        ),
        pytest.param([{"prompt": "\ud800", "final_text": "\ud800", "reward": 1}], id="surrogates"),
    ],
)
def test_every_report_answers(report: Callable[[Any], Any], rows: list[dict[str, Any]]) -> None:
    answer = report(rows)
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize("report", REPORTS[:5])
@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (None, "NoneType"),
        ("rows.jsonl", "str"),
        ({"prompt": "a"}, "dict"),
        ([{"prompt": "a"}, "b"], "row 1 is str"),
    ],
)
def test_what_is_no_list_of_rows_is_refused(
    report: Callable[[Any], Any], rows: object, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        report(rows)


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, "yes", "nan", [1], {}, 10**400])
def test_a_grade_that_is_no_number_is_no_grade(reward: object) -> None:
    rows = [*graded(MIXED), {"task_id": "a", "reward": reward}]
    assert pass_at(rows)["n_rows"] == 5
    assert pass_at(rows)["n_partial"] == 0
    assert hack_scan(rows)["n_graded"] == 5
    assert profile_report(rows)["split"]["ungraded"] == 1
    assert publish_gate(rows)["calibration"]["n_unstamped"] == 1


@pytest.mark.parametrize("reward", ["1", True, 1.0, " 1 "])
def test_a_grade_spelled_otherwise_counts(reward: object) -> None:
    rows = [{"task_id": "a", "reward": reward}, {"task_id": "a", "reward": 0}]
    assert pass_at(rows)["pass_at_1"] == 0.5
    assert hack_scan(rows)["n_graded"] == 2
    assert profile_report(rows)["split"] == {"pass": 1, "fail": 1, "ungraded": 0}


@pytest.mark.parametrize("reward", [-1, 2, 5.5])
def test_rewards_outside_the_range_are_said(reward: float) -> None:
    report = publish_gate([*rollouts(MIXED), {"task_id": "z", "reward": reward}])
    assert any("below 0 or above 1" in warning and "'z'" in warning for warning in report.warnings)
    assert report["calibration"]["n_unstamped"] == 1


def test_an_id_of_zero_is_an_id_where_no_prompt_says_otherwise() -> None:
    rows = [{"task_id": number, "reward": number % 2} for number in (0, 0, 1, 1)]
    assert pass_at(rows)["n_groups"] == 2
    assert group_signal([{"task_id": 0, "reward": mark} for mark in (0, 1)])["n_mixed"] == 1


def test_one_rollout_delivered_twice_is_a_duplicate() -> None:
    rows = rollouts(MIXED)
    report = publish_gate([*rows, dict(rows[0]), dict(rows[1], reward=1)])
    assert report["duplicates"]["n_dropped"] == 2
    assert report["duplicates"]["conflicting_rewards"] == 1
    assert report["duplicates"]["groups_affected"] == 1


def test_same_text_with_other_calls_is_no_duplicate() -> None:
    rows = rollouts({"a": "1"}) * 2
    rows[1] = {**rows[1], "steps": []}
    assert publish_gate(rows, strict=False)["duplicates"]["n_dropped"] == 0


def test_unanimous_rows_select_nothing_and_say_so() -> None:
    selected, report = select_for_rl(graded({"a": "11", "b": "00", "c": "1"}))
    assert selected == []
    assert report["unanimous_groups_dropped"] == 2
    assert report["single_groups_dropped"] == 1


def test_nothing_to_clean_is_clean() -> None:
    kept, report = decontaminate([], [])
    assert kept == []
    assert report["contamination_rate"] == 0.0
