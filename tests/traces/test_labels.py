from __future__ import annotations

import pytest

from whileai_core.traces.labels import binary, label_of


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (True, 1),
        (False, 0),
        ("1", 1),
        (" 0 ", 0),
        ("0.0", 0),
        (1.0, 1),
        (0.7, None),
        (float("nan"), None),
        ("true", None),
        ([], None),
        (None, None),
        (10**400, None),
    ],
)
def test_grades_that_read_as_0_or_1(value, label):
    assert binary(value) == label


def test_advisory_label_stands_in_when_the_reward_says_nothing():
    assert label_of({"reward": 0.5, "qwen_reward": "0"}) == 0
    assert label_of({"reward": 1, "qwen_reward": 0}) == 1
    assert label_of({}) is None
