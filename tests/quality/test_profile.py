import json

import pytest
from rollouts import graded, rollouts

from whileai_core.quality import Preview, Profile, preview_report, profile_report, publish_gate

FOUR = {"r101": "1010", "r102": "1110", "r103": "1111", "r104": "0000"}


def test_the_published_example_of_a_profile() -> None:
    tasks = {f"m{i}": marks for i, marks in enumerate(["1100", "1000", "1110"] * 2)}
    tasks |= {f"n{i}": "0000" for i in range(15)}
    profile = profile_report(graded(tasks))
    assert (profile.rows, profile.graded, profile.tasks) == (84, 84, 21)
    assert profile["split"] == {"pass": 12, "fail": 72, "ungraded": 0}
    assert profile["pass_rate"] == 0.143
    assert profile["rows_per_task"] == 4.0
    assert (profile["tasks_with_repeats"], profile["mixed_tasks"]) == (21, 6)
    assert profile["mixed_fraction"] == 0.286
    assert profile["support"] == 0.238


def test_every_rate_has_its_interval_and_n() -> None:
    profile = profile_report(rollouts(FOUR))
    assert profile["pass_rate"] == 0.562
    assert profile["pass_rate_interval95"][0] < 0.562 < profile["pass_rate_interval95"][1]
    assert profile["pass_at_1_interval95"][0] < 0.562 < profile["pass_at_1_interval95"][1]
    assert profile["support"] == pytest.approx(0.438, abs=0.001)
    for entry in profile["per_task"]:
        assert entry["interval95"][0] <= entry["pass_rate"] <= entry["interval95"][1]
        assert entry["graded"] == 4


def test_tools_and_tokens() -> None:
    rows = rollouts({"a": "10"})
    rows[1]["steps"] = []
    rows[0]["usage"] = {"input_tokens": 100, "output_tokens": 20}
    profile = profile_report(rows)
    assert profile["tool_use"] == {
        "rows": 1,
        "share": 0.5,
        "calls_per_row": 0.5,
        "by_tool": {"find_room": 1},
    }
    assert profile["tokens"]["source"] == "estimate"
    rows[1]["usage"] = {"total_tokens": 40}
    assert profile_report(rows)["tokens"] == {
        "total": 160,
        "mean": 80.0,
        "p50": 40,
        "p95": 120,
        "source": "usage",
    }


def test_says_what_a_trainer_would() -> None:
    training = profile_report(rollouts(FOUR))["training"]
    assert training["sft"][0].startswith("refuse: 7 of 16 graded rows fail")
    assert training["grouped"][0].startswith("warn: 2 mixed tasks (1 always pass, 1 always fail")
    assert profile_report(graded({"a": "11"}))["training"]["grouped"][0].startswith("refuse")


def test_what_is_no_object_is_an_ungraded_task_of_its_own() -> None:
    profile = profile_report([3, None, *graded({"a": "1"})])
    assert (profile["rows"], profile["tasks"], profile["graded"]) == (3, 3, 1)


def test_a_profile_grows_row_by_row() -> None:
    profile = Profile()
    for row in rollouts(FOUR):
        profile.add(row)
    assert profile.result() == profile_report(rollouts(FOUR))


def test_preview_shows_first_middle_and_last_row() -> None:
    rows = [{"prompt": str(number)} for number in range(7)]
    assert preview_report(rows)["rows"] == [rows[0], rows[3], rows[6]]
    assert preview_report(rows[:1])["rows"] == rows[:1]
    assert preview_report([])["rows"] == []


def test_preview_cuts_long_rows() -> None:
    row = {
        "prompt": "x" * 50_000,
        "steps": [{"tool": "t", "arguments": {"a": "y" * 9000}, "result": [[["z" * 99] * 20]]}]
        * 60,
    }
    (shown,) = preview_report([row])["rows"]
    assert len(json.dumps(shown)) <= 6000
    assert shown["prompt"].startswith("xxx") and shown["prompt"].endswith("…")


def test_preview_reports_what_the_gate_says() -> None:
    rows = rollouts(FOUR)
    gate = publish_gate(rows, mode="rl")
    report = preview_report(rows, mode="rl")["report"]
    assert report["length"] == gate["length"]
    assert report["hack_scan"] == gate["hack_scan"]["regime"]
    assert report["refusal"] is None
    refused = preview_report(rollouts({"a": "11", "b": "00"}), mode="rl")["report"]
    assert refused["refusal"].startswith("no_mixed_groups: ")


def test_preview_counts_behaviour_and_tiers() -> None:
    rows = [
        {**row, "tier": "boundary" if place % 2 else "ordinary", "failure_class": "slow"}
        for place, row in enumerate(rollouts(FOUR))
    ]
    report = preview_report([*rows, {"prompt": "more"}])["report"]
    assert report["tier_counts"] == {"boundary": 8, "ordinary": 8, "unlabelled": 1}
    assert report["tier_fail_rate"]["boundary"]["n"] == 8
    assert report["failure_classes"] == {"slow": 16}
    assert (report["labeled"], report["usable_sft"], report["unique_prompts"]) == (16, 9, 5)
    assert report["fail_rate_ci95"][0] < report["fail_rate"] < report["fail_rate_ci95"][1]


def test_preview_says_when_the_gate_read_a_part() -> None:
    preview = Preview(16, mode="rl", gate_rows=8)
    for row in rollouts(FOUR):
        preview.add(row)
    report = preview.result()["report"]
    assert report["gate_rows"] == 8
    assert report["rows"] == 16
    assert any("first 8 of 16 rows" in warning for warning in report["warnings"])
