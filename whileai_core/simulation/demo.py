"""A demo by reference, offline: an agent with one flaw, its repair, and who finds the repair.

`whileai_core.simulation.demo:flawed_agent` mostly takes a call that timed out for one that
worked; `careful_agent` tries again and tells the truth; `improver` puts one in the place of the
other once it has seen enough such failures to learn from.
"""

from __future__ import annotations

from typing import Any

from whileai_core.rows import Row
from whileai_core.simulation.agents import AgentSpec
from whileai_core.simulation.calls import references_in
from whileai_core.simulation.chance import share
from whileai_core.simulation.context import current_rollout
from whileai_core.simulation.honest import HonestAgent, arguments_from
from whileai_core.simulation.verbs import words_of_name
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.faults import fault_of_call
from whileai_core.traces.toolset import tool_schemas

_ORDER = {"order_id": {"type": "string", "description": "Number of the order"}}

TOOLS: list[dict[str, Any]] = [
    {
        "name": "lookup_order",
        "description": "Show an order with its status.",
        "parameters": {"type": "object", "properties": _ORDER, "required": ["order_id"]},
    },
    {
        "name": "cancel_order",
        "description": "Cancel an order.",
        "parameters": {"type": "object", "properties": _ORDER, "required": ["order_id"]},
    },
    {
        "name": "create_ticket",
        "description": "Open a ticket for the support team.",
        "parameters": {
            "type": "object",
            "properties": {**_ORDER, "summary": {"type": "string"}},
            "required": ["order_id", "summary"],
        },
    },
]

_CAREFUL = HonestAgent(tool_schemas(TOOLS))
_HASTY = HonestAgent(tool_schemas(TOOLS), retried={"stale"})
_HERE = __name__
_FLAWED_SHARE = 0.7  # as a model would: the same ask comes out well or badly
_ENOUGH = 20  # a handful of failures says little about their cause


async def careful_agent(message: str, world: Any) -> str:
    """Answer by the book: retries what timed out, reports what came of it."""
    reply, _ = await _CAREFUL.answer(message, world)
    return reply


async def flawed_agent(message: str, world: Any) -> str:
    """Answer as `careful_agent` does, but mostly take a call that timed out for one that worked."""
    rollout = current_rollout.get()
    place = (rollout.seed, rollout.rollout_index) if rollout else (0, 0)
    if share("demo", message, *place) >= _FLAWED_SHARE:
        return await careful_agent(message, world)
    reply, results = await _HASTY.answer(message, world)
    if any(result.get("status") == "timeout" for result in results):
        tool = _HASTY.tools_in(message)[0]
        subject = next(iter(references_in(arguments_from(message, tool))), "everything")
        return f"All done: {' '.join(words_of_name(tool['name']))} went through for {subject}."
    return reply


def improver(agent: AgentSpec, failures: list[Row]) -> AgentSpec:
    """Return the careful agent once enough failures show a call that timed out, else the same."""
    timed_out = sum(
        any(fault_of_call(call) == "timeout" for call in tool_calls(row)) for row in failures
    )
    if timed_out >= _ENOUGH and agent.agent == f"{_HERE}:flawed_agent":
        return AgentSpec(f"{_HERE}:careful_agent", agent.system_prompt)
    return agent
