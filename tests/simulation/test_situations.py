"""Which situations a run draws: coverage first, the share of faults, how hard they are."""

from __future__ import annotations

from collections import Counter

import pytest
from shop import TOOLS

from whileai_core import build_dimensions
from whileai_core.simulation.situations import Explorer, pair_coverage

AXES = build_dimensions(TOOLS)


def picks(n, *, seed=0, axes=AXES, fault_rate=0.5, hard_share=0.4, flip=True):
    explorer = Explorer(axes, seed, fault_rate, hard_share, flip)
    return [explorer.pick() for _ in range(n)]


@pytest.mark.parametrize("seed", range(5))
def test_a_hundred_or_so_situations_cover_nearly_all_pairs(seed):
    drawn = picks(115, seed=seed)
    assert pair_coverage(AXES, [one.assignment for one in drawn])["fraction"] >= 0.95


def test_with_rules_too():
    axes = build_dimensions(TOOLS, "- Never refund twice.\n- Ask first.\n- Escalate legal threats.")
    drawn = picks(115, axes=axes)
    assert pair_coverage(axes, [one.assignment for one in drawn])["fraction"] >= 0.95


def test_no_more_than_the_share_of_faults_is_drawn():
    for rate in (0.0, 0.3, 0.8):
        drawn = picks(100, fault_rate=rate)
        assert sum(bool(one.faults) for one in drawn) <= 100 * rate + 1
    assert not any(one.faults for one in picks(300, fault_rate=0))


def test_once_all_is_covered_faults_become_rare_unless_repeats_are_wanted():
    later = {flip: picks(1000, flip=flip)[300:] for flip in (True, False)}
    shares = {flip: sum(bool(one.faults) for one in drawn) / 700 for flip, drawn in later.items()}
    assert shares[True] < 0.1
    assert 0.4 < shares[False] < 0.6


def test_a_situation_says_of_faults_what_its_world_will_do():
    for one in picks(400):
        assert bool(one.faults) == (one.assignment["tool_condition"] != "success")


@pytest.mark.parametrize(("share", "hard"), [(0, 0), (0.4, 40), (1, 100)])
def test_hard_situations_have_their_share(share, hard):
    tiers = Counter(one.tier for one in picks(100, hard_share=share))
    assert 100 - tiers["ordinary"] == hard


def test_few_situations_have_every_tier():
    assert len({one.tier for one in picks(8)}) == 4


def test_another_seed_draws_other_situations_and_the_same_one_the_same():
    assert [one.id for one in picks(40)] == [one.id for one in picks(40)]
    assert [one.id for one in picks(40)] != [one.id for one in picks(40, seed=1)]


def test_all_cells_are_visited_before_any_is_visited_much_more_often():
    visits = Counter(one.id for one in picks(4000, fault_rate=0))
    assert max(visits.values()) <= 4 * min(visits.values())
