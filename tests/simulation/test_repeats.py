"""How many rollouts a prompt gets."""

from __future__ import annotations

from whileai_core.simulation.probes import open_ended
from whileai_core.simulation.repeats import Group, Repeats


def group(number, target):
    situation = open_ended(f"ask {number}", tier="ordinary", origin="seed", seed=0, writer="seed")
    return Group(situation, f"ask {number}", "seed", target)


def play(repeats, n, budget, outcome):
    """Roll out n groups until nothing is owed; `outcome(group number, index)` labels rollouts."""
    groups = [group(number, repeats.first) for number in range(n)]
    left = budget
    while left > 0 and any(one.owed > 0 for one in groups):
        for number, one in enumerate(groups):
            while one.owed > 0 and left > 0:
                index = one.done
                one.rows[index] = {}
                one.outcomes.append(outcome(number, index))
                left -= 1
        repeats.decide(groups, lambda listed: listed, hurried=False)
    return groups


def test_fixed_gives_every_prompt_all_of_them():
    groups = play(Repeats("fixed", 4), 5, 100, lambda number, index: 1)
    assert [one.done for one in groups] == [4] * 5


def test_successive_gives_split_prompts_all_and_stops_most_that_agree():
    groups = play(
        Repeats("successive", 8), 20, 1000, lambda number, index: number < 5 and index % 2
    )
    assert [one.done for one in groups[:5]] == [8] * 5
    assert sum(one.done == 2 for one in groups[5:]) >= 10


def test_stopped_prompts_go_on_when_there_is_room_for_all_they_may_need():
    repeats = Repeats("successive", 8)
    groups = [group(number, 2) for number in range(3)]
    for one in groups:
        one.rows = {0: {}, 1: {}}
        one.stopped = True
    assert not repeats.resume(groups, 5, lambda listed: listed)
    assert repeats.resume(groups, 13, lambda listed: listed)
    assert [one.target for one in groups] == [3, 3, 2]
