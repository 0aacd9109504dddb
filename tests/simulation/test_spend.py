"""A budget that is kept, whatever runs at once."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from whileai_core.errors import InputError, SpendExhausted
from whileai_core.simulation.spend import Spend


def test_calls_stop_at_the_limit_and_are_counted_by_role():
    async def run():
        spend = Spend(max_calls=3)
        for role in ("agent", "agent", "judge"):
            async with spend.call(role):
                pass
        with pytest.raises(SpendExhausted, match="max_calls"):
            async with spend.call("user"):
                pass
        return spend.report()

    report = anyio.run(run)
    assert (report["calls"], report["calls_by_role"]) == (3, {"agent": 2, "judge": 1})


@pytest.mark.parametrize("at_once", [1, 8])
def test_tokens_are_never_exceeded_and_what_calls_give_back_is_used(at_once):
    async def run():
        spend = Spend(max_tokens=1000)
        refused = 0

        async def call():
            nonlocal refused
            try:
                async with spend.call("agent", at_most=300) as charge:
                    await anyio.lowlevel.checkpoint()
                    charge.input_tokens, charge.output_tokens = 60, 40
            except SpendExhausted:
                refused += 1

        for _ in range(24 // at_once):
            async with anyio.create_task_group() as group:
                for _ in range(at_once):
                    group.start_soon(call)
        return spend, refused

    spend, refused = anyio.run(run)
    assert spend.tokens <= 1000
    # Calls of 100 tokens that may take 300: the last one that is covered starts at 700.
    assert (spend.tokens, refused) == (800, 16)


def test_a_call_that_fails_gives_back_what_it_set_aside():
    async def run():
        spend = Spend(max_tokens=100)
        for _ in range(5):
            with pytest.raises(OSError, match="gone"):
                async with spend.call("agent", at_most=100):
                    raise OSError("gone")
        return spend.tokens

    assert anyio.run(run) == 0


@pytest.mark.parametrize("limit", [0, -1, True, 1.5, "10"])
def test_limits_are_whole_numbers(limit):
    with pytest.raises(InputError, match="max_tokens"):
        Spend(max_tokens=limit)
