"""Simulation as tasks: an agent rolled out in a sandbox, aimed by traces.

Agents and judges may be named (`module:attribute`, an endpoint), so that parameters are JSON.
With a `checkpoint` a task that is run once more goes on from the rows that landed.
"""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

import whileai_core as core
from whileai_core import ScoredData, SimulationData


@task(cache_policy=NO_CACHE, task_run_name="simulate-{mode}")
async def simulate_from_traces(
    traces: Any,
    agent: Any = None,
    *,
    tools: Any = None,
    policy: str = "",
    mode: str = "rl",
    **kwargs: Any,
) -> SimulationData:
    """Simulate situations aimed at what failed in traces, behind the leakage gate."""
    return await core.simulate_from_traces(
        traces, agent, tools=tools, policy=policy, mode=mode, **kwargs
    )


@task(cache_policy=NO_CACHE, task_run_name="simulate-{mode}")
async def simulate(agent: Any = None, *, mode: str = "explore", **kwargs: Any) -> SimulationData:
    """Roll an agent out in a sandbox world; the arguments are those of the core's `simulate`."""
    return await core.simulate(agent, mode=mode, **kwargs)


@task(cache_policy=NO_CACHE)
async def evaluate(rows: Any, judge: Any = None, **kwargs: Any) -> ScoredData:
    """Judge rows, also those of a handle; the arguments are those of the core's `evaluate`."""
    return await core.evaluate(rows, judge, **kwargs)
