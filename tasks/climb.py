"""The steps of a hill climb as tasks; each is a thin cover over one step of `Climb`.

A step that is done is found again in the climb's journal, so trying again repeats nothing.
"""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks._retry import WHILE_AWAY, when_platform_away, when_store_failed
from whileai_core.climb import Climb


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=10, retry_condition_fn=when_store_failed
)
async def gather(climb: Climb) -> dict[str, Any]:
    """Read the traces a climb starts from, and its tools."""
    return await climb.gather()


@task(
    cache_policy=NO_CACHE,
    task_run_name="simulate-{number}",
    retries=2,
    retry_delay_seconds=10,
    retry_condition_fn=when_store_failed,
)
async def simulate_round(climb: Climb, number: int) -> dict[str, Any]:
    """Roll out a round's asks, aimed at the failures of the round before."""
    return await climb.simulate(number)


@task(cache_policy=NO_CACHE, task_run_name="evaluate-{number}")
async def evaluate_round(climb: Climb, number: int) -> dict[str, Any]:
    """Grade a round's rows."""
    return await climb.evaluate(number)


@task(
    cache_policy=NO_CACHE,
    task_run_name="push-{number}",
    retries=len(WHILE_AWAY),
    retry_delay_seconds=WHILE_AWAY,
    retry_condition_fn=when_platform_away,
)
async def push_round(climb: Climb, number: int) -> dict[str, Any]:
    """Push a round's rows behind the publish gate, with the round before as parent."""
    return await climb.push(number)


@task(cache_policy=NO_CACHE, task_run_name="measure-{number}")
async def measure_round(climb: Climb, number: int) -> dict[str, Any]:
    """Try a round's agent on the held-out tasks."""
    return await climb.measure(number)


@task(cache_policy=NO_CACHE, task_run_name="improve-{number}")
async def improve_agent(climb: Climb, number: int) -> dict[str, Any]:
    """Make the next agent out of a round's failures."""
    return await climb.improve(number)


@task(cache_policy=NO_CACHE, task_run_name="finish-{number}")
async def finish_round(climb: Climb, number: int) -> dict[str, Any]:
    """Put a round's numbers together."""
    return await climb.finish(number)
