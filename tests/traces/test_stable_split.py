from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import items

from whileai_core.traces.stable_split import stable_split
from whileai_core.traces.tasks import task_digest

VERBS = ("cancel", "refund", "track", "move", "upgrade", "return")
VERBS += ("locate", "confirm", "renew", "pause", "ship", "merge")
NOUNS = ("parcel", "booking", "invoice", "seat", "ticket")
NOUNS += ("account", "deposit", "coupon", "router", "policy")


def ask(text, status=None):
    steps = [{"tool": "t", "arguments": {}, "result": {"status": status}}] if status else []
    return {"prompt": text, "steps": steps, "final_text": ""}


def clean_night(n):
    pairs = [(verb, noun) for noun in NOUNS for verb in VERBS]
    return [ask(f"{verb} my {noun}") for verb, noun in pairs[:n]]


def remembered(*splits):
    decisions = [decision for split in splits for decision in split.decisions]
    return {
        "ledger_sides": {decision.task: decision.side for decision in decisions},
        "anchors": [(text, decision.side) for decision in decisions for text in decision.asks],
        "known_flaws": {flaw for split in splits for flaw in split.flaws},
    }


def keys(rows):
    return {task_digest(row) for row in rows}


@given(st.lists(items, max_size=10), st.randoms(use_true_random=False))
def test_order_does_not_matter_and_nothing_is_lost(rows, shuffler):
    split = stable_split(rows, embedder="hash")
    shuffled = list(rows)
    shuffler.shuffle(shuffled)
    again = stable_split(shuffled, embedder="hash")
    assert again.decisions == split.decisions
    assert again.flaws == split.flaws
    objects = [row for row in rows if isinstance(row, dict)]
    assert sorted(map(id, split.production + split.remainder)) == sorted(map(id, objects))


def test_a_second_night_keeps_every_side_and_decides_only_what_is_new():
    first = stable_split(clean_night(60))
    second = stable_split(clean_night(120), **remembered(first))
    assert keys(first.production) <= keys(second.production)
    assert keys(first.remainder) <= keys(second.remainder)
    assert not keys(first.production + first.remainder) & {d.task for d in second.decisions}
    again = stable_split(clean_night(120), **remembered(first, second))
    assert again.decisions == []
    assert keys(again.production) == keys(second.production)


def test_the_share_is_reached_over_many_tasks():
    held = len(
        stable_split(clean_night(120), fraction=0.3, embedder="hash", threshold=1).production
    )
    assert 20 <= held <= 52


def test_near_copies_follow_their_anchor_on_either_side():
    first = stable_split(clean_night(60))
    for rows, side in ((first.production, "production"), (first.remainder, "remainder")):
        copies = [ask(f"Hi, please {row['prompt'].upper()}!") for row in rows]
        second = stable_split(copies, **remembered(first))
        assert {(d.side, d.reason) for d in second.decisions} == {(side, "near_copy")}


def test_near_copies_of_one_night_stay_together():
    for seed in range(6):
        split = stable_split(
            [ask("Cancel my big order please"), ask("cancle my big order"), *clean_night(12)],
            seed=seed,
            fraction=0.5,
        )
        sides = {d.side for d in split.decisions if any("big" in text for text in d.asks)}
        assert len(sides) == 1


def test_template_siblings_are_separate_tasks():
    split = stable_split([ask(f"Cancel order {n} now") for n in range(1000, 1200)], fraction=0.2)
    assert 20 <= len(split.production) <= 60


def test_each_new_kind_of_failure_is_held_out_once():
    rows = [*clean_night(20), ask("pay rent", "timeout"), ask("book flight", "timeout")]
    first = stable_split(rows, fraction=0.0)
    assert len(first.production) == 1
    assert len(first.flaws) == 1
    late = [ask("open gate", "timeout"), ask("close gate", "denied")]
    second = stable_split(late, fraction=0.0, **remembered(first))
    assert [row["prompt"] for row in second.production] == ["close gate"]


def test_something_is_held_out_from_the_first_night_on():
    split = stable_split(clean_night(3), fraction=0.01)
    assert [len(split.production), len(split.remainder)] == [1, 2]
    assert [d.reason for d in split.decisions if d.side == "production"] == ["first"]
    assert stable_split(clean_night(3), fraction=0).production == []


def test_says_when_failures_leave_little_or_nothing_to_train_on():
    rows = [ask(f"{verb} it", f"exit_{n}") for n, verb in enumerate(VERBS, 1)]
    split = stable_split(rows)
    assert split.remainder == []
    assert "nothing is left to train on" in split.note
    limited = stable_split(rows, flaw_limit=0.5)
    assert len(limited.remainder) >= 3
    assert "flaw_limit" in limited.note
    assert stable_split(clean_night(40)).note is None


def test_rows_of_no_task_are_known_by_content():
    rows = [{"prompt": "", "steps": [], "final_text": str(n)} for n in range(9)]
    deep: object = "end"
    for _ in range(20_000):
        deep = [deep]
    rows.append({"prompt": "", "steps": [], "extra": deep})
    random.Random(1).shuffle(rows)
    split = stable_split(rows, fraction=0.5)
    assert len(split.decisions) == 10
    assert all(decision.asks == () for decision in split.decisions)


def test_wrong_settings_are_refused():
    with pytest.raises(ValueError, match="fraction"):
        stable_split([], fraction=1.2)
    with pytest.raises(ValueError, match="'test'"):
        stable_split([], ledger_sides={"k": "test"})
