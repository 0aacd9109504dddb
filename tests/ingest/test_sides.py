"""The split over the nights: a task keeps its side, near copies follow, nothing is lost."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from night_kit import intake, remember, row, rows_of, write_jsonl

from whileai_core.ingest.workspace import Workspace


def side_of(plan):
    sides = {}
    for name in ("train", "holdout"):
        for item in getattr(plan, name) or ():
            sides.setdefault(" ".join(item["prompt"].lower().split()), set()).add(name)
    return sides


def test_a_task_stays_where_it_first_fell(tmp_path):
    with Workspace("a") as workspace:
        first = intake(workspace, write_jsonl(tmp_path / "1.jsonl", [row(n) for n in range(50)]))
        remember(workspace, first)
        variants = [row(n) for n in range(50)]
        for item in variants:
            item["prompt"] = "  " + item["prompt"].upper()
            item["final_text"] = "another answer"
        second = intake(workspace, write_jsonl(tmp_path / "2.jsonl", variants))
    before, after = side_of(first), side_of(second)
    assert after == before
    assert {name for sides in before.values() for name in sides} == {"train", "holdout"}
    assert second.split["tasks_from_earlier_nights"] == 50


@settings(max_examples=25, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 60), min_size=1, max_size=60),
    failures=st.sets(st.integers(0, 60), max_size=4),
)
def test_nothing_is_lost_and_no_task_is_on_both_sides(numbers, failures, tmp_path_factory):
    folder = tmp_path_factory.mktemp("night")
    rows = [
        row(n, trial=i, **({"reward": 0} if n in failures else {"reward": 1}))
        for i, n in enumerate(numbers)
    ]
    settings_ = Workspace("a").settings.model_copy(update={"home": folder})
    with Workspace("a", settings=settings_) as workspace:
        plan = intake(workspace, write_jsonl(folder / "in.jsonl", rows))
    assert len(rows_of(plan)) + plan.account["leaky"] == len(rows)
    assert all(len(sides) == 1 for sides in side_of(plan).values())
    held = sum(1 for _ in plan.holdout or ())
    assert held >= round(0.2 * len(rows))
    if failures & set(numbers):
        assert any(item["reward"] == 0 for item in plan.holdout)


def test_near_copies_of_held_out_asks_are_held_out_and_template_siblings_are_not_drawn(tmp_path):
    asks = [
        "Please cancel my subscription to the gardening magazine before the next issue",
        "please cancel my subscription to the gardening magazine before the next issue!!",
        "Could you tell me which bus goes from the harbour to the old town hall",
        "What is the warranty on the blue espresso machine I bought in March",
        "My parcel was left with a neighbour whom I do not know, what now",
    ]
    rows = [{"prompt": ask, "final_text": "ok", "reward": int(n > 0)} for n, ask in enumerate(asks)]
    with Workspace("a") as workspace:
        plan = intake(workspace, write_jsonl(tmp_path / "1.jsonl", rows))
        held = {item["prompt"] for item in plan.holdout}
        assert asks[0] in held  # the only flaw
        assert asks[1] in held
        assert plan.split["tasks_drawn_as_near_copies"] == 1
        remember(workspace, plan)
        later = {"prompt": asks[0].replace("magazine", "magasine"), "final_text": "done"}
        second = intake(workspace, write_jsonl(tmp_path / "2.jsonl", [later]))
    assert second.train is None
    assert second.holdout.rows == 1


def failures(words):
    return [
        {
            "prompt": f"{word} {n} things with care",
            "steps": [{"tool": word, "arguments": {}, "result": {"status": "error"}}],
            "final_text": "",
        }
        for n, word in enumerate(words)
    ]


def test_failures_all_of_their_own_kind_leave_something_to_train_on_and_the_run_says_so(tmp_path):
    rows = failures(["paint", "count", "weigh", "carve", "mow", "dig", "bake", "sew"])
    with Workspace("a") as workspace:
        plan = intake(workspace, write_jsonl(tmp_path / "1.jsonl", rows))
    assert (plan.train.rows, plan.holdout.rows) == (4, 4)
    assert "nothing or little to train on" in plan.split["warning"]


def test_a_night_of_one_task_has_nothing_to_train_on_and_says_so(tmp_path):
    with Workspace("a") as workspace:
        plan = intake(workspace, write_jsonl(tmp_path / "1.jsonl", failures(["paint"])))
    assert plan.train is None
    assert "nothing is left to train on" in plan.split["warning"]


def test_a_kind_of_flaw_held_out_once_can_be_trained_on_later(tmp_path):
    with Workspace("a") as workspace:
        filler = [row(n) for n in range(20)]
        first = intake(
            workspace, write_jsonl(tmp_path / "1.jsonl", [*filler, *failures(["paint"])])
        )
        remember(workspace, first)
        assert first.split["tasks_held_out_for_a_new_flaw"] == 1
        later = failures(["paint"])
        later[0]["prompt"] = "Whitewash the garden fence before the guests arrive on Sunday"
        second = intake(
            workspace,
            write_jsonl(tmp_path / "2.jsonl", [*(row(n) for n in range(30, 50)), *later]),
        )
    assert second.split["tasks_held_out_for_a_new_flaw"] == 0


def test_another_wording_of_a_held_out_task_is_held_out_and_its_copies_do_not_leak(tmp_path):
    filler = [row(n) for n in range(20)]
    wordings = [
        "Please book me a table for four at the harbour inn on Friday evening",
        "I would like to reserve seats at the restaurant by the docks",
    ]
    held = [
        {"prompt": ask, "final_text": "", "scenario_id": "table", "reward": 0} for ask in wordings
    ]
    copy = {"prompt": wordings[1] + "!", "final_text": "done", "scenario_id": "other"}
    with Workspace("a") as workspace:
        plan = intake(workspace, write_jsonl(tmp_path / "1.jsonl", [*filler, *held, copy]))
    assert {item["prompt"] for item in plan.holdout} >= {*wordings, copy["prompt"]}
