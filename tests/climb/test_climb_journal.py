"""What a climb remembers of its finished steps."""

from __future__ import annotations

import anyio
import pytest

from whileai_core.climb import ClimbPlan
from whileai_core.climb.journal import Journal
from whileai_core.errors import InputError, StoreError


def test_a_step_is_done_once(tmp_path):
    calls = []

    async def work():
        calls.append(1)
        return {"answer": 1 << 70}

    async def twice():
        first = await Journal(tmp_path / "climb").once("round-1/scored", work)
        again = await Journal(tmp_path / "climb").once("round-1/scored", work)
        return first, again

    first, again = anyio.run(twice)
    assert first == again == {"answer": 1 << 70}
    assert calls == [1]
    assert Journal(tmp_path / "climb").steps() == ["round-1/scored"]


def test_a_step_that_fails_is_not_remembered(tmp_path):
    async def work():
        raise InputError("no")

    journal = Journal(tmp_path)
    with pytest.raises(InputError):
        anyio.run(journal.once, "start", work)
    assert journal.read("start") is None


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "start.json").write_text("{")
    with pytest.raises(StoreError, match="start.json"):
        Journal(tmp_path).read("start")


def test_the_same_plan_is_the_same_climb_and_limits_may_be_raised():
    plan = ClimbPlan("support", "shop:agent", rounds=2, max_calls=10)
    raised = ClimbPlan("support", "shop:agent", rounds=9, max_calls=99, concurrency=1)
    assert plan.shape() == raised.shape()
    assert plan.shape() != ClimbPlan("support", "shop:agent", seed=1).shape()
    assert ClimbPlan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize("wrong", [{"rounds": 0}, {"budget": 2}, {"repeats": True}])
def test_a_plan_that_cannot_be_carried_out_is_refused(wrong):
    with pytest.raises(InputError):
        ClimbPlan("support", "shop:agent", **wrong)
