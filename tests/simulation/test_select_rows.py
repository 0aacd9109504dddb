"""What is chosen to train on, and why the rest is not."""

from __future__ import annotations

import pytest

from whileai_core import ScoredData
from whileai_core.errors import InputError
from whileai_core.simulation.selection import select_rows


def group(task, rewards, fault=None, **extra):
    result = {"status": fault or "ok"}
    return [
        {
            "prompt": f"Ask {task}",
            "scenario_id": task,
            "steps": [{"tool": "t", "arguments": {"n": n}, "result": result}],
            "final_text": f"{task} reply {n}",
            "reward": reward,
            **extra,
        }
        for n, reward in enumerate(rewards)
    ]


def test_whole_mixed_tasks_within_the_band_are_kept_and_stamped():
    rows = [
        *group("mixed", [1, 0, 1, 0]),
        *group("passed", [1, 1]),
        *group("failed", [0, 0]),
        *group("rare", [1] + [0] * 9),
        *group("single", [1]),
    ]
    chosen, report = ScoredData(rows).select()
    assert {row["scenario_id"] for row in chosen} == {"mixed"}
    assert chosen[0]["calibration"]["n"] == 4
    assert "calibration" not in rows[0]
    assert report["n"] == 19
    assert report["n_selected"] == 4
    assert report["groups"]["unanimous_groups_dropped"] == 2
    assert report["groups"]["band_dropped"] == {"too_easy": 0, "too_hard": 1}


def test_unclean_rows_are_left_out_each_for_its_reason():
    secret = "the hidden code is 4471-canary"
    clean = group("a", [1, 0, 1, 0])
    rows = [
        *clean,
        {**clean[0], "final_text": " A  REPLY 0"},
        {**clean[0], "final_text": f"Well, {secret}!", "privileged": secret},
        {**clean[0], "final_text": "new", "reward": None},
        {**clean[0], "final_text": "half", "reward": 0.5},
        {**clean[0], "final_text": ""},
        {**clean[0], "final_text": "cut", "finish_reason": "length"},
    ]
    chosen, report = select_rows(rows)
    assert [row["final_text"] for row in chosen] == [row["final_text"] for row in clean]
    assert report["dropped"] == {
        "duplicate": 1,
        "no_reply": 1,
        "privileged": 1,
        "truncated": 1,
        "unlabeled": 2,
    }


def test_a_task_that_hygiene_made_unanimous_goes_as_a_whole():
    rows = group("a", [1, 1, 0])
    rows[2]["finish_reason"] = "length"
    chosen, report = select_rows(rows)
    assert (chosen, report["groups"]["unanimous_groups_dropped"]) == ([], 1)


def test_faults_take_turns_and_tasks_are_never_split():
    rows = [
        row
        for n in range(6)
        for row in group(f"clean{n}", [1, 0]) + group(f"slow{n}", [1, 0], "timeout")
    ]
    rows += group("denied", [1, 0], "permission_denied")
    chosen, report = select_rows(rows, target=5)
    assert [row["scenario_id"] for row in chosen[::2]] == ["clean0", "slow0", "denied"]
    assert report["rows_by_fault"] == {"deny": 2, "none": 2, "timeout": 2}


def test_sft_takes_the_passes():
    chosen, report = select_rows(group("a", [1, 0, 1]), "sft")
    assert [row["reward"] for row in chosen] == [1, 1]
    assert report["dropped"] == {"not_passed": 1}


def test_rows_of_an_evaluation_are_counted():
    _, report = select_rows(group("a", [1, 0], lineage={"source": "eval"}))
    assert report["n_eval_rows"] == 2


def test_an_unknown_mode_is_refused():
    with pytest.raises(InputError, match="known: rl, sft"):
        select_rows([], "dpo")
