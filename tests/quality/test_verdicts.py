import math
from typing import Any

import pytest

from whileai_core.errors import InputError
from whileai_core.quality import normalize_judge_result


@pytest.mark.parametrize(
    ("result", "reward"),
    [(True, 1), (False, 0), (1, 1), (0.0, 0), (0.5, 0.5), ({"score": 0.25}, 0.25)],
)
def test_rewards_are_read(result: Any, reward: float) -> None:
    verdict = normalize_judge_result(result)
    assert verdict.reward == reward
    assert verdict.judge_status == "ok"


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ("yes", "invalid_result"),
        (None, "invalid_result"),
        (2, "invalid_result"),
        (math.nan, "invalid_result"),
        ({"reward": "1"}, "invalid_result"),
        ({"verdict": "good"}, "missing_reward"),
    ],
)
def test_a_failed_judgement_is_no_zero(result: Any, status: str) -> None:
    verdict = normalize_judge_result(result)
    assert verdict["reward"] is None
    assert verdict["judge_status"] == status


def test_reason_and_further_keys_are_kept() -> None:
    verdict = normalize_judge_result(
        {"reward": 1, "reason": "fine", "model": "m", "judge_meta": {"model": "n"}}
    )
    assert verdict["reason"] == "fine"
    assert verdict["judge_meta"] == {"model": "n"}


def test_ratings_are_put_on_the_scale() -> None:
    assert normalize_judge_result(4, scale=(1, 5))["reward"] == 0.75
    assert normalize_judge_result({"rating": 5}, scale=(1, 5))["reward"] == 1
    outside = normalize_judge_result({"rating": 9}, scale=(1, 5))
    assert outside["judge_meta"]["rating_out_of_scale"] == 9.0


@pytest.mark.parametrize("scale", [(5, 1), (1,), ("a", "b"), (1, 1)])
def test_a_scale_has_two_ends(scale: Any) -> None:
    with pytest.raises(InputError, match="the lower one first"):
        normalize_judge_result(1, scale=scale)
