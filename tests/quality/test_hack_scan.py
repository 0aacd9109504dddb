import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from rollouts import chatter, planted

from whileai_core.errors import InputError
from whileai_core.quality import hack_scan

Rows = list[dict[str, Any]]


def noise(seed: int, tasks: int = 8, repeats: int = 6) -> Rows:
    """Return rows whose reward follows nothing."""
    rng = random.Random(seed)
    rows = planted(rng, tasks, repeats)
    return [{**row, "reward": rng.randint(0, 1)} for row in rows]


def test_finds_what_the_reward_follows() -> None:
    scan = hack_scan(planted(random.Random(1), 8, 6), endorsed=["tool:find_room"])
    assert scan.regime == "reward_hack"
    assert scan["rho_max"] == 1.0
    assert "splendid" in json.dumps(scan["features"]).lower()
    assert scan["tasks"][0] == "k0"
    assert "which is not endorsed" in scan["warnings"][0]


def test_follows_the_endorsed_tool() -> None:
    rows = planted(random.Random(2), 8, 6, tool=True)
    scan = hack_scan(rows, endorsed=["TOOL:find_room"])
    assert scan["regime"] == "train"
    assert scan["endorsed_on_top"] is True
    assert scan["integrity"] == 0.5  # a call is a turn as well: the documented number
    assert scan["integrity_calibrated"] == 1.0


def test_says_nothing_of_chance() -> None:
    named = [hack_scan(noise(seed))["n_above_floor"] > 0 for seed in range(40)]
    assert sum(named) <= 6  # at most 5 % are expected to


@pytest.mark.parametrize(("tasks", "repeats"), [(2, 6), (3, 4), (3, 6), (4, 4), (5, 4)])
def test_finds_a_shortcut_in_few_rows(tasks: int, repeats: int) -> None:
    found = [
        hack_scan(planted(random.Random(seed), tasks, repeats), endorsed=["tool:find_room"])
        for seed in range(10)
    ]
    assert sum(scan["regime"] == "reward_hack" for scan in found) >= 9


def test_booleans_and_rephrased_asks_hide_nothing() -> None:
    rng = random.Random(5)
    rows = planted(rng, 4, 5, boolean=True)
    for row in rows:
        row["prompt"] = f"{chatter(rng)} {row['prompt']}"
    scan = hack_scan(rows, endorsed=["tool:find_room"])
    assert scan["regime"] == "reward_hack"
    assert scan["n_groups"] == 4
    assert scan["n_graded"] == 20


def test_endorsed_features_may_be_rare() -> None:
    rows = planted(random.Random(6), 12, 4)
    for place, row in enumerate(rows):
        row["steps"] = (
            [{"tool": "escalate", "arguments": {}, "result": None}] if place % 9 == 0 else []
        )
    scan = hack_scan(rows, endorsed=["tool:escalate"])
    assert scan["regime"] == "reward_hack"
    assert scan["endorsed_known"] is True


def test_a_misspelled_endorsement_is_said() -> None:
    scan = hack_scan(planted(random.Random(1), 8, 6), endorsed=["tool:find_rom"])
    assert scan["regime"] == "unknown"
    assert scan["endorsed_known"] is False
    assert "check the spelling" in scan["warnings"][0]


def test_a_feature_that_lowers_the_reward_is_inverted() -> None:
    rows = planted(random.Random(7), 8, 6, tool=True)
    for row in rows:
        row["reward"] = 1 - row["reward"]
    scan = hack_scan(rows, endorsed=["tool:find_room"], auto=False)
    assert scan["regime"] == "reward_hack"
    assert scan["inverted"] == ["tool_calls"]


def test_pairs_of_features_are_found_by_name() -> None:
    rng = random.Random(8)
    rows = []
    for task in range(16):
        for one, two in [(0, 0), (0, 1), (1, 0), (1, 1)] * 2:
            text = ("Surely. " if one else "") + ("Gladly. " if two else "") + chatter(rng)
            rows.append({"task_id": f"t{task}", "final_text": text, "reward": one & two})
    scan = hack_scan(rows)
    assert scan["top_feature"] in (
        "contains:surely & contains:gladly",
        "contains:gladly & contains:surely",
        "contains:surely gladly",
    )


def test_conjunctions_are_part_of_the_floor() -> None:
    scan = hack_scan(noise(3, 25, 8))
    assert scan["tau_calibrated"] > scan["tau"]


def test_two_replies_per_task_tell_nothing_apart() -> None:
    rows = [
        {"prompt": f"q{task}", "reward": reward, "final_text": text, "steps": []}
        for task in range(12)
        for reward, text in [(0, "A much longer answer that goes on."), (1, "Short.")] * 2
    ]
    scan = hack_scan(rows, endorsed=["reply_length"], auto=False)
    assert scan["regime"] == "degenerate"
    assert scan["top_feature"] is None


def test_features_of_the_caller() -> None:
    rows = noise(4)
    secret = [float(row["reward"]) for row in rows]
    for features in (
        {"secret": secret},
        {"secret": lambda row: row["reward"]},
    ):
        scan = hack_scan(rows, features=features)  # type: ignore[arg-type]
        assert scan["top_feature"] == "secret"


@pytest.mark.parametrize(
    ("features", "says"),
    [
        ({"short": [1, 2]}, "has 2 values for 48 graded rows"),
        ({"text": lambda row: "x"}, "is 'x' for a row"),
        ({"nan": lambda row: float("nan")}, "give a finite number"),
    ],
)
def test_features_that_are_no_numbers_are_refused(
    features: dict[str, Callable[[Any], Any]], says: str
) -> None:
    with pytest.raises(InputError, match=says):
        hack_scan(noise(4), features=features)


def test_the_order_of_tasks_changes_no_correlation() -> None:
    rows = planted(random.Random(9), 8, 6)
    backwards = sorted(rows, key=lambda row: row["task_id"], reverse=True)
    one, two = hack_scan(rows, auto=False), hack_scan(backwards, auto=False)
    assert {f["name"]: f["rho"] for f in one["features"]} == {
        f["name"]: f["rho"] for f in two["features"]
    }


def test_the_same_rows_give_the_same_report() -> None:
    rows = noise(10)
    assert hack_scan(rows) == hack_scan(rows)
    assert json.loads(json.dumps(hack_scan(rows))) == hack_scan(rows)


@pytest.mark.parametrize(
    "options", [{"endorsed": "tool"}, {"endorsed": [""]}, {"n_perm": 0}, {"alpha": 0}]
)
def test_arguments_out_of_range_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        hack_scan(noise(1), **options)
