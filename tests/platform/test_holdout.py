"""The holdout split and its size, against worked values."""

from __future__ import annotations

import pytest

from whileai_core import errors
from whileai_core.platform.holdout import Census, bucket, checked_fraction, split_key


@pytest.mark.parametrize(
    ("key", "place"),
    [
        ("s0", 0.922255205),
        ("s3", 0.254458166),
        ("p0", 0.088308067),
        ("", 0.889415996),
        ("case-1", 0.727086758),
        ("漢字", 0.776650872),
    ],
)
def test_places_of_keys(key: str, place: float) -> None:
    assert bucket(key) == pytest.approx(place, abs=2e-9)


def test_the_first_truthy_name_of_a_task_counts() -> None:
    assert split_key({"scenario_id": 7, "task_id": "t", "prompt": "p"}) == "7"
    assert split_key({"scenario_id": "", "task_id": None, "prompt": "p"}) == "p"
    assert split_key({}) == ""


def census(rewards: dict[str, list[object]]) -> Census:
    counted = Census()
    for task, values in rewards.items():
        for value in values:
            counted.add({"reward": value}, task)
    return counted


def test_tasks_needed() -> None:
    assert census({"a": [0, 1], "b": [1, 0]}).tasks_needed(0.05) == 781
    assert census({"a": [None]}).tasks_needed(0.05) == 1468
    assert census({"a": [None], "b": ["", True]}).tasks_needed(0.1) == 354
    assert census({"a": [1, 1, 1], "b": [1.0, 1, 1]}).tasks_needed(0.05) == 490
    with pytest.raises(errors.InputError):
        census({"a": [1]}).tasks_needed(1)


def test_small_sets_warn_and_large_ones_do_not(recwarn: pytest.WarningsRecorder) -> None:
    census({str(n): [1, 0] for n in range(781)}).warn_if_small(0.05, name="set")
    Census().warn_if_small(0.05, name="set")
    assert not recwarn.list
    with pytest.warns(UserWarning, match="has 780 tasks"):
        census({str(n): [1, 0] for n in range(780)}).warn_if_small(0.05, name="set")


def test_fractions() -> None:
    assert checked_fraction(None) is None
    assert checked_fraction(0) is None
    assert checked_fraction(0.2) == 0.2
    for wrong in (1, 1.0, True, -1, float("nan")):
        with pytest.raises(errors.InputError):
            checked_fraction(wrong)
