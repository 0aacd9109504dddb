"""Why a climb ends."""

from __future__ import annotations

from whileai_core.climb.stopping import stop_reason


def record(number: int = 1, **changes):
    return {
        "round": number,
        "rows": 96,
        "graded": 96,
        "failed": 20,
        "stopped_because": "budget",
        "agent_changed": False,
        "comparison": None,
        "warnings": [],
        **changes,
    }


def gain(low: float, high: float) -> dict:
    return {"n_tasks": 24, "difference": (low + high) / 2, "ci95": [low, high]}


def test_a_climb_goes_on_while_there_is_something_to_climb():
    assert stop_reason([record()], most=3) is None
    better = record(2, agent_changed=True, comparison=gain(0.1, 0.4))
    assert stop_reason([record(), better], most=3) is None


def test_it_stops_at_the_last_round():
    assert stop_reason([record(n) for n in (1, 2, 3)], most=3)[0] == "rounds"


def test_it_stops_when_no_graded_row_failed():
    code, reason = stop_reason([record(failed=0)], most=3)
    assert code == "no_flaws" and "96" in reason
    assert stop_reason([record(graded=0, failed=0)], most=3) is None


def test_it_stops_where_a_new_agent_is_no_better_than_noise():
    flat = record(2, agent_changed=True, comparison=gain(-0.1, 0.2))
    code, reason = stop_reason([record(), flat], most=5)
    assert code == "plateau" and "24 held-out tasks" in reason
    same_agent = record(2, comparison=gain(-0.1, 0.2))
    assert stop_reason([record(), same_agent], most=5) is None


def test_too_few_tasks_are_no_evidence_of_a_plateau():
    unknown = {"n_tasks": 3, "difference": 0.0, "ci95": None}
    assert stop_reason([record(2, agent_changed=True, comparison=unknown)], most=5) is None
