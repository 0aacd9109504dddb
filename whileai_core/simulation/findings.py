"""What is worth knowing about a run that is over: its flags and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whileai_core.rows import Row
from whileai_core.simulation.agents import Runner
from whileai_core.simulation.engine import Outcome
from whileai_core.simulation.planner import Planner
from whileai_core.traces.calls import tool_calls

_ENOUGH_ROWS = 32  # from which a tool that was never called is worth a word
_SHOWN = 80


def findings_of(
    outcome: Outcome, planner: Planner, tools: Sequence[dict[str, Any]], runner: Runner
) -> tuple[list[str], list[str]]:
    """Return the flags and the warnings of a run."""
    dead = _dead_tools(outcome.rows, tools)
    none_called = bool(tools and outcome.rows) and not any(
        row.get("tools_used") for row in outcome.rows
    )
    flags = {
        "rollouts_lost": bool(outcome.lost_by),
        "agent_errors": outcome.errors > 0,
        "no_tool_calls": none_called,
        "dead_tools": bool(dead) and not none_called,
        "same_model": runner.user_model is not None and runner.user_model == runner.name,
        "writer_fell_back": planner.fell_back > 0,
    }
    warnings = []
    if outcome.why:
        lost = sum(outcome.lost_by.values())
        warnings.append(f"{outcome.why} ({outcome.errors} errors, {lost} rollouts lost)")
    if dead and not none_called:
        warnings.append(f"never called in {len(outcome.rows)} rows: {', '.join(dead)}")
    if none_called:
        warnings.append("no tool was called: faults and states of the world were not met")
    if planner.fell_back:
        warnings.append(f"{planner.fell_back} prompts came from templates: the writer gave none")
    if planner.dropped_seeds:
        shown = ", ".join(repr(text[:_SHOWN]) for text in planner.dropped_seeds)
        warnings.append(f"seeds left out, since they copy an ask that must not be copied: {shown}")
    return [name for name, holds in flags.items() if holds], warnings


def _dead_tools(rows: Sequence[Row], tools: Sequence[dict[str, Any]]) -> list[str]:
    if len(rows) < _ENOUGH_ROWS:
        return []
    called = {call.tool for row in rows for call in tool_calls(row)}
    return [tool["name"] for tool in tools if tool["name"] not in called]
