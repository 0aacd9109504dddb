"""Regions of behaviour: status, priority and share of the budget."""

from __future__ import annotations

import pytest

from whileai_core.simulation.behaviour_state import behavior_state


def row(reward, ts, *, status="ok", version="a", tool="lookup_order", **more):
    steps = [{"tool": tool, "arguments": {}, "result": {"status": status}}]
    return {
        "prompt": "x",
        "steps": steps,
        "final_text": "y",
        "reward": reward,
        "ts": ts,
        "model_version": version,
        **more,
    }


def test_worked_numbers():
    rows = [row(0, ts, status="timeout") for ts in range(3)]
    state = behavior_state([*rows[:1], *rows[1:]])
    assert state["recover_after_timeout"]["status"] == "persistent"
    assert state["recover_after_timeout"]["priority"] == 0.5738
    assert state["recover_after_timeout"]["budget_share"] == 0.8
    mixed = [row(reward, ts) for ts, reward in enumerate([0, 1, 1, 0])]
    assert behavior_state(mixed)["task:lookup_order"]["priority"] == 0.375


@pytest.mark.parametrize(
    ("earlier", "latest", "status"),
    [
        ([1], [1], "passing"),
        ([1], [0], "new"),
        ([0], [0, 1], "persistent"),
        ([0], [1], "improving"),
        ([0], [], "uncertain"),
    ],
)
def test_the_status_of_a_region_over_two_versions(earlier, latest, status):
    rows = [row(label, 1, version="a") for label in earlier]
    rows += [row(label, 2, version="b") for label in latest]
    rows.append(row(1, 3, version="b", tool="other"))
    assert behavior_state(rows)["task:lookup_order"]["status"] == status


def test_what_was_aimed_at_is_solved_or_wants_other_coordinates():
    steering = {"steering": {"origin": "targeted"}}
    solved = [row(0, 1), row(1, 2, version="b", **steering)]
    assert behavior_state(solved)["task:lookup_order"]["status"] == "solved"
    stays = [row(0, 1), row(0, 2, version="b", **steering)]
    assert behavior_state(stays)["task:lookup_order"]["rotate_coordinates"]


def test_markers_are_regions_and_ungraded_rows_are_none():
    rows = [row(None, 1, scores={"polite": 0, "length": 0.4})]
    assert list(behavior_state(rows)) == ["polite"]
    assert behavior_state([]) == {}


def test_times_may_be_spelt_in_any_way():
    spelt = ["2026-11-28T10:00:00Z", 1795946400.5, 1795946401 * 10**9, None, ["x"], "noon", {}]
    rows = [row(number % 2, ts) for number, ts in enumerate(spelt)]
    assert behavior_state(rows)["task:lookup_order"]["graded"] == len(spelt)
    late = [row(0, "2026-11-28T10:00:00Z"), row(1, 1764000000.0)]  # the first is the later one
    assert behavior_state(late) == behavior_state(late[::-1])
