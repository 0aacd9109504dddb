import copy
import json
import random
from typing import Any

import pytest
from rollouts import planted, rollouts

from whileai_core.errors import InputError, PublishGateError
from whileai_core.quality import pass_at, publish_gate, split_holdout

FOUR = {"r101": "1010", "r102": "1110", "r103": "1111", "r104": "0000"}


def test_mixed_tasks_pass_with_what_they_are_worth() -> None:
    report = publish_gate(rollouts(FOUR), mode="rl")
    assert report.ok and report.rl_shaped
    signal = report["signal"]
    assert (signal["n_mixed"], signal["n_all_one"], signal["n_all_zero"]) == (2, 1, 1)
    assert signal["pass_at_1"] == pytest.approx(0.5625)
    assert signal["interval95"][0] < 0.5625 < signal["interval95"][1]
    assert json.loads(json.dumps(report))["refusal"] is None


def test_stamps_copies_and_leaves_the_rows_alone() -> None:
    rows = rollouts(FOUR)
    before = copy.deepcopy(rows)
    report = publish_gate(rows, mode="rl", policy="bot")
    assert rows == before
    stamp = report.rows[0]["calibration"]
    assert stamp["task_id"] == "r101"
    assert stamp["student"]["name"] == "bot"
    assert (stamp["n"], stamp["pass_rate"]) == (4, 0.5)
    assert stamp["pass_rate_ci95"] == [0.15, 0.85]
    assert [{k: v for k, v in row.items() if k != "calibration"} for row in report.rows] == before


def test_a_stamp_from_more_rows_is_kept() -> None:
    rows = rollouts(FOUR)
    rows[0]["calibration"] = {"task_id": "r101", "n": 8, "pass_rate": 0.625, "student": {}}
    report = publish_gate(rows, mode="rl")
    assert report["calibration"]["n_carried"] == 1
    assert report.rows[0]["calibration"]["pass_rate"] == 0.625
    assert report.rows[1]["calibration"]["n"] == 4


@pytest.mark.parametrize(
    ("tasks", "code", "names"),
    [
        ({"a": "111", "b": "000"}, "no_mixed_groups", ["'a'", "'b'"]),
        ({"a": "1", "b": "0"}, "no_mixed_groups", ["'a', 'b'"]),
    ],
)
def test_refusals_name_the_tasks(tasks: dict[str, str], code: str, names: list[str]) -> None:
    with pytest.raises(PublishGateError) as caught:
        publish_gate(rollouts(tasks), mode="rl")
    assert str(caught.value).startswith(f"{code}: ")
    assert all(name in str(caught.value) for name in names)


def test_many_tasks_are_named_in_part() -> None:
    report = publish_gate(rollouts({f"t{i}": "00" for i in range(9)}), strict=False)
    assert "'t0', 't1', 't2', 't3', 't4' and 4 more" in report["refusal"]


@pytest.mark.parametrize("mode", ["rl", "RL", None, "explore"])
def test_ungraded_groups_are_refused(mode: str | None) -> None:
    rows = [{**row, "reward": None} for row in rollouts(FOUR)]
    with pytest.raises(PublishGateError, match="^ungraded_rl_rows: .*'r101'"):
        publish_gate(rows, mode=mode)


def test_an_accidental_repeat_is_a_warning_in_a_set_of_single_rows() -> None:
    rows = [{"prompt": f"Where is parcel {i}?", "final_text": f"In town {i}."} for i in range(20)]
    rows.append(dict(rows[3], final_text="On its way."))
    report = publish_gate(rows, mode="explore")
    assert report["ok"] and not report["rl_shaped"]
    assert any("'Where is parcel 3?'" in warning for warning in report["warnings"])


def test_the_train_part_has_to_pass_on_its_own() -> None:
    tasks = {f"sc-{i:02d}": "11" for i in range(20)}
    train, held = split_holdout(rollouts(tasks), 0.2)
    mixed = held[0]["scenario_id"]
    rows = rollouts({**tasks, mixed: "10"})
    assert publish_gate(rows, mode="rl")["ok"]
    with pytest.raises(PublishGateError) as caught:
        publish_gate(rows, mode="rl", holdout=0.2)
    assert str(caught.value).startswith("no_mixed_groups: after holding out 0.2")
    assert f"held out: 1 mixed task ({mixed!r})" in str(caught.value)
    assert train


def test_strict_hacks_refuses_a_reward_that_follows_something_else() -> None:
    rows = planted(random.Random(1), 8, 6)
    endorsed = ["tool:find_room"]
    assert publish_gate(rows, mode="rl", endorsed=endorsed)["hack_scan"]["regime"] == "reward_hack"
    with pytest.raises(PublishGateError, match="^reward_hack: .*'k0'"):
        publish_gate(rows, mode="rl", endorsed=endorsed, strict_hacks=True)


def test_strict_hacks_refuses_an_endorsement_of_nothing() -> None:
    rows = planted(random.Random(1), 8, 6, tool=True)
    assert publish_gate(rows, mode="rl", endorsed=["tool:find_room"], strict_hacks=True)["ok"]
    with pytest.raises(PublishGateError, match="correct the spelling"):
        publish_gate(rows, mode="rl", endorsed=["tool:findroom"], strict_hacks=True)


def test_gate_and_scan_count_the_same_tasks() -> None:
    rows = planted(random.Random(3), 6, 6)
    for place, row in enumerate(rows):
        row["prompt"] = f"{row['prompt']}, asked {place} times"
    report = publish_gate(rows, mode="rl")
    scan = report["hack_scan"]
    assert report["signal"]["n_mixed"] == round(scan["support"]["mixed"] * scan["n_groups"]) == 6


def test_warns_of_what_it_lets_pass() -> None:
    rows = rollouts({**FOUR, "r105": "1" * 9 + "0"})
    rows[1]["reward"] = None
    rows[4]["final_text"] = "This one goes on and on " * 20
    rows.append(dict(rows[5], reward=0))
    rows[8]["prompt"] = "Where may I find a good room with a view for the week of the fair please"
    rows[9]["prompt"] = "Where may I find a good room with a view for the week of the fair now"
    warnings = "\n".join(publish_gate(rows, mode="rl")["warnings"])
    for says in (
        "1 rows have no label of 0 or 1 ('r101')",
        "1 mixed tasks pass less than 0.2 or more than 0.8 of the time ('r105')",
        "2 tasks are unanimous and give no gradient ('r104', 'r103')",
        "1 rows repeat another row, 1 with another label ('r102')",
        "1 replies were cut ('r102')",
        "1 tasks have a reply more than 4 times as long as the usual one ('r102')",
        "2 prompts are nearly the same as another one",
    ):
        assert says in warnings


def test_labels_that_go_along_with_a_phrase_are_flagged() -> None:
    rows = rollouts({f"t{i}": "10" for i in range(20)})
    for row in rows:
        if row["reward"]:
            row["final_text"] += " Great question, happy to help."
    correlations = publish_gate(rows)["correlations"]
    assert {"sycophancy", "boilerplate"} <= set(correlations["flagged"])
    assert correlations["correlations"]["sycophancy"] == pytest.approx(1.0)


def test_near_duplicates_are_those_of_a_full_comparison() -> None:
    rng = random.Random(12)
    words = [f"w{i}" for i in range(30)]
    prompts = list({" ".join(rng.sample(words, rng.randint(1, 12))) for _ in range(150)})
    prompts += [f"{prompt} {rng.choice(words)}" for prompt in prompts[:80]]
    prompts = list(dict.fromkeys(prompts))
    sets = [set(prompt.split()) for prompt in prompts]
    pairs = sum(len(a & b) >= 0.8 * len(a | b) for i, a in enumerate(sets) for b in sets[i + 1 :])
    near = publish_gate([{"prompt": prompt} for prompt in prompts])["near_duplicate_prompts"]
    assert pairs > 20
    assert near["n_pairs"] == pairs


@pytest.mark.parametrize(
    "options",
    [
        {"band": (0.8, 0.2)},
        {"band": 0.5},
        {"band": ("a", "b")},
        {"mode": 3},
        {"holdout": 1.0},
        {"holdout": True},
        {"endorsed": "tool"},
    ],
)
def test_arguments_out_of_range_are_an_error_of_the_caller(options: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        publish_gate(rollouts(FOUR), **options)
    assert not isinstance(caught.value, PublishGateError)


def test_rows_that_are_chat_and_nothing_else_are_read() -> None:
    def chat(ask: str, reply: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": ask}, {"role": "assistant", "content": reply}]

    rows = [
        {"messages": chat(f"ask {n // 4}", f"reply {n}"), "reward": n % 2, "n": n} for n in range(8)
    ]
    report = publish_gate(rows)
    assert report["rl_shaped"]
    assert report["signal"]["n_mixed"] == 2
    assert report["duplicates"]["n_dropped"] == 0
    assert pass_at(rows).pass_at_1 == 0.5
    stamped = [{k: v for k, v in row.items() if k != "calibration"} for row in report.rows]
    assert stamped == rows
