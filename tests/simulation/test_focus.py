"""Aiming: what failed rows have in common, and the situations and clean twins made of it."""

from __future__ import annotations

from collections import Counter
from itertools import cycle

import pytest
from shop import TOOLS

from whileai_core import build_dimensions
from whileai_core.simulation.aim import aim_results
from whileai_core.simulation.focus import AIMED, TWIN, Focus
from whileai_core.simulation.signatures import common_causes, flaws_of, read_row

AXES = build_dimensions(TOOLS)
RESULTS = {
    "success": {"status": "ok"},
    "timeout": {"status": "timeout"},
    "permission_denied": {"status": "permission_denied"},
}


def row(
    reward,
    tool="lookup_order",
    stance="ordinary",
    condition="success",
    state="entity exists",
    history="fresh",
):
    step = {"tool": tool, "arguments": {"order_id": "ORD-1"}, "result": RESULTS[condition]}
    return {
        "prompt": f"{tool} {stance}",
        "steps": [step],
        "final_text": "done",
        "reward": reward,
        "scenario_id": f"sc-{tool}-{stance}-{condition}-{state}",
        "world_state": state,
        "scenario_dimensions": {
            "tool": tool,
            "rule": "unspecified",
            "stance": stance,
            "world_state": state,
            "tool_condition": condition,
            "history": history,
        },
    }


def grid(fails):
    histories = cycle(AXES["history"])
    return [
        row(
            0 if fails(tool, stance, condition) else 1,
            tool,
            stance,
            condition,
            history=next(histories),
        )
        for tool in ("lookup_order", "cancel_order", "create_ticket")
        for stance in ("ordinary", "hurried", "adversarial")
        for condition in RESULTS
    ]


@pytest.mark.parametrize(
    ("fails", "causes"),
    [
        (lambda tool, stance, condition: condition == "timeout", {("tool_condition", "timeout")}),
        (lambda tool, stance, condition: tool == "cancel_order", {("tool", "cancel_order")}),
        (lambda tool, stance, condition: stance == "hurried", {("stance", "hurried")}),
        (lambda tool, stance, condition: stance == "ordinary", {("stance", "ordinary")}),
        (
            lambda tool, stance, condition: condition == "timeout" or stance == "hurried",
            {("tool_condition", "timeout"), ("stance", "hurried")},
        ),
    ],
)
@pytest.mark.parametrize("only_failures", [True, False])
def test_what_failures_have_in_common_is_found(fails, causes, only_failures):
    rows = [one for one in grid(fails) if one["reward"] == 0 or not only_failures]
    assert common_causes(rows, AXES) == causes


@pytest.mark.parametrize("axis", ["tool", "stance", "tool_condition"])
def test_a_clean_twin_lacks_what_makes_its_sibling_fail(axis):
    guilty = {"tool": "cancel_order", "stance": "ordinary", "tool_condition": "timeout"}[axis]
    rows = grid(lambda *values: guilty in values)
    focus = Focus([one for one in rows if one["reward"] == 0], AXES, 0, 0.2)
    for _ in range(12):
        aimed, twin = focus.pick(AIMED), focus.pick(TWIN)
        assert aimed.assignment[axis] == guilty
        assert twin.assignment[axis] != guilty
        assert not twin.faults
        assert twin.assignment["world_state"] == "entity exists"


def test_an_aimed_situation_keeps_all_that_is_known_and_its_fault():
    focus = Focus([row(0, "cancel_order", "hurried", "timeout", "unknown")], AXES, 0, 0.2)
    drawn = [focus.pick(AIMED) for _ in range(10)]
    for one in drawn:
        assert one.assignment["tool"] == "cancel_order"
        assert one.assignment["stance"] == "hurried"
        assert one.assignment["world_state"] == "unknown"
        assert one.faults == {"cancel_order": {"mode": "timeout", "rate": 1.0, "times": 1}}
        assert one.parent == "sc-cancel_order-hurried-timeout-unknown"
        assert one.steering["origin"] == "targeted"
    assert len({one.assignment["history"] for one in drawn}) == len(AXES["history"])


def test_every_signature_comes_once_before_any_comes_twice_and_handled_faults_do_not():
    rows = [
        *(row(0, "lookup_order", stance, "timeout") for stance in ("ordinary", "hurried")),
        *(row(0, "cancel_order") for _ in range(5)),
        *(row(1, "create_ticket", "ordinary", "timeout") for _ in range(40)),
    ]
    focus = Focus(rows, AXES, 0, 0.2)
    drawn = [focus.pick(AIMED).steering["signature"] for _ in range(30)]
    assert len(set(drawn[:3])) == len(set(drawn)) == 3
    assert not any("create_ticket" in text for text in drawn)
    assert max(Counter(drawn).values()) < 20


def test_rows_of_production_are_read_by_what_their_tools_answered():
    production = {
        "prompt": "Cancel ORD-1",
        "steps": [
            {"tool": "lookup_order", "arguments": {}, "result": {"status": "ok"}},
            {
                "tool": "cancel_order",
                "arguments": {},
                "result": {"error": "no", "status": "denied"},
            },
        ],
        "final_text": "Cancelled.",
        "reward": 0,
    }
    reading = read_row(production, AXES)
    assert reading.values == {"tool": "cancel_order", "tool_condition": "permission_denied"}
    lost = {**production, "steps": [{"tool": "x", "result": {"status": "not_found"}}]}
    assert read_row(lost, AXES).values["world_state"] == "entity missing"
    aimed = Focus([production], AXES, 0, 0.2).pick(AIMED)
    assert aimed.faults == {"cancel_order": {"mode": "permission_denied", "rate": 1.0}}


def test_a_failure_without_a_fault_is_varied_and_said_to_be():
    focus = Focus([row(0, "cancel_order", "hurried")], AXES, 0, 0.2)
    aimed = focus.pick(AIMED)
    assert aimed.brief
    assert aimed.assignment["history"] == "fresh"
    assert Focus([row(0, condition="timeout")], AXES, 0, 0.2).pick(AIMED).brief is None


def test_ungraded_faults_count_half_and_handled_ones_a_tenth():
    rows = [
        row(0, condition="timeout"),
        row(None, condition="timeout"),
        row(1, condition="timeout"),
    ]
    assert [flaw.weight for flaw in flaws_of(rows, AXES, set())] == [1.0, 0.5, 0.1]


def test_results_say_per_signature_what_landed_and_failed():
    flaw = row(0, "cancel_order", "hurried", "timeout")
    focus = Focus([flaw], AXES, 0, 0.2)
    text = focus.pick(AIMED).steering["signature"]
    steering = {"origin": "targeted", "signature": text}
    missed = row(1, "cancel_order", "hurried")
    rows = [*({**flaw, "steering": steering} for _ in range(3)), {**missed, "steering": steering}]
    (entry,) = aim_results(focus.entries({text: 4}), rows)
    assert (entry["planned"], entry["landed"], entry["n"], entry["failed"]) == (4, 3, 3, 3)
    low, high = entry["interval"]
    assert 0.4 < low < 1 and high > 0.99
    (ungraded,) = aim_results(focus.entries({text: 4}), [])
    assert (ungraded["failed"], ungraded["interval"]) == (None, None)
