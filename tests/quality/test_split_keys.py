"""The holdout split and its size, against worked values."""

from __future__ import annotations

import pytest

from whileai_core import errors
from whileai_core.quality.sides import bucket, checked_fraction, split_key


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


def test_fractions() -> None:
    assert checked_fraction(None) is None
    assert checked_fraction(0) is None
    assert checked_fraction(0.2) == 0.2
    for wrong in (1, 1.0, True, -1, float("nan")):
        with pytest.raises(errors.InputError):
            checked_fraction(wrong)
