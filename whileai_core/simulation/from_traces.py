"""`simulate_from_traces`: simulate, aimed by traces, with the tools they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError
from whileai_core.simulation.data import SimulationData
from whileai_core.simulation.simulating import simulate
from whileai_core.traces.harness import infer_harness
from whileai_core.traces.intake import rows_of

if TYPE_CHECKING:
    from whileai_core.simulation.agents import Agent


async def simulate_from_traces(
    traces: object,
    agent: Agent | None = None,
    *,
    tools: object = None,
    policy: str = "",
    mode: str = "rl",
    **kwargs: Any,
) -> SimulationData:
    """Simulate situations aimed at what failed in traces, behind the leakage gate.

    Args:
        traces: Rows, or a path to them.
        agent: As for `simulate`. Traces alone run no agent: `agent="seeded"` is one for demos.
        tools: The agent's tools; read from the traces when they are not given.
        policy: The agent's instructions.
        mode: As for `simulate`.
        kwargs: Further arguments of `simulate`.

    Raises:
        InputError: There is no agent, there are no traces, or an argument cannot be used.
        TypeError: A keyword is unknown.
    """
    rows = list(rows_of(traces))
    if not rows:
        raise InputError("traces= holds no rows to aim by; pass rows, or a path to them")
    if tools is None:
        tools = infer_harness(rows)["tools"]
    return await simulate(
        agent, tools=tools, system_prompt=policy or None, mode=mode, traces=rows, **kwargs
    )
