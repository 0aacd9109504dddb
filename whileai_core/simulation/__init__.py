"""Simulation: situations from a grid, rolled out in a sandbox world, aimed by traces, judged.

What users of the room need is here by name, loaded on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from whileai_core.simulation.agents import AgentSpec as AgentSpec
    from whileai_core.simulation.aim import aim_results as aim_results
    from whileai_core.simulation.context import current_rollout as current_rollout
    from whileai_core.simulation.context import world as world
    from whileai_core.simulation.data import SimulationData as SimulationData
    from whileai_core.simulation.endpoint import ChatEndpoint as ChatEndpoint
    from whileai_core.simulation.evaluating import evaluate as evaluate
    from whileai_core.simulation.from_traces import simulate_from_traces as simulate_from_traces
    from whileai_core.simulation.outcome import outcome_judge as outcome_judge
    from whileai_core.simulation.scored import ScoredData as ScoredData
    from whileai_core.simulation.seeded import seeded_agent as seeded_agent
    from whileai_core.simulation.simulating import simulate as simulate
    from whileai_core.simulation.spend import Spend as Spend

# Name -> module of this package that defines it.
_HOMES = {
    "AgentSpec": "agents",
    "ChatEndpoint": "endpoint",
    "ScoredData": "scored",
    "SimulationData": "data",
    "Spend": "spend",
    "aim_results": "aim",
    "current_rollout": "context",
    "evaluate": "evaluating",
    "outcome_judge": "outcome",
    "seeded_agent": "seeded",
    "simulate": "simulating",
    "simulate_from_traces": "from_traces",
    "world": "context",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

if not TYPE_CHECKING:  # so that a type checker still finds misspelled names

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value
