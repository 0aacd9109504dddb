"""A climb in words: every rate in per cent, with interval and n, in one style."""

from __future__ import annotations

import re

import pytest

from whileai_core.climb.pages import change_text, climb_markdown, climb_text, round_markdown
from whileai_core.climb.stopping import stop_reason

RATE = {"rate": 0.8125, "low": 0.672, "high": 0.931, "n": 96, "tasks": 24}
AIM = {
    "signature": "timeout × success",
    "planned": 12,
    "landed": 11,
    "failed": 5,
    "n": 11,
    "interval": [0.213, 0.72],
}
CHANGE = {
    "difference": 0.125,
    "ci95": [0.03, 0.22],
    "n_tasks": 24,
    "separated": True,
    "note": "",
}
ROUND = {
    "round": 2,
    "agent": {"agent": "shop:agent"},
    "agent_changed": True,
    "graded": 96,
    "failed": 18,
    "pass_at_1": RATE,
    "held_out": RATE | {"tasks": 1},
    "comparison": CHANGE,
    "aim": [AIM, AIM | {"failed": None, "n": 0, "interval": None}],
    "dataset": {"datasetId": "ds_1", "refusal": None},
    "warnings": [],
}
RESULT = {
    "name": "support",
    "rounds": [ROUND],
    "stopped": "rounds",
    "reason": "all 2 rounds are done",
    "known": 0,
    "folder": "f",
}


@pytest.mark.parametrize(
    "text",
    [
        climb_text(RESULT),
        round_markdown(ROUND, page=lambda _: None),
        climb_markdown("support", [ROUND], None, page=lambda _: None),
    ],
    ids=["prompt", "round", "climb"],
)
def test_rates_are_in_per_cent_with_interval_and_n(text):
    text = re.sub(r"\(data:[^)]*\)", "", text)
    assert "81.2 % [67.2 – 93.1], n = 96 in 24 tasks" in text
    assert "81.2 % [67.2 – 93.1], n = 96 in 1 task" in text
    assert "+12.5 points [+3.0 – +22.0], n = 24 tasks, beyond noise" in text
    if "aimed at" in text:
        assert "45.5 % [21.3 – 72.0], n = 11" in text
        assert "none graded" in text
    assert not re.search(r"\b0\.\d", text), "a share among the per cent"
    assert "pass@1" in text


def test_a_change_without_an_interval_says_why():
    few = CHANGE | {"ci95": None, "n_tasks": 1, "note": "too few tasks for an interval"}
    assert change_text(few) == "+12.5 points, n = 1 task, too few tasks for an interval"
    assert change_text(CHANGE | {"difference": None}) == "no task in common"


def test_the_reason_of_a_plateau_is_in_the_same_style():
    flat = ROUND | {"comparison": CHANGE | {"ci95": [-0.03, 0.28], "separated": False}}
    _, reason = stop_reason([flat], most=5)
    assert reason.endswith("24 held-out tasks: +12.5 points [-3.0 – +28.0]")
