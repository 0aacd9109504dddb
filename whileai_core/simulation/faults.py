"""Faults a world is told to show: plans, and how often each call still meets one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.simulation.chance import share

ANY_TOOL = "*"
_RECOVER = frozenset({"timeout", "stale"})  # by themselves, after one call

# Value of the `tool_condition` axis -> mode of the fault that makes it true.
MODE_OF_CONDITION = {
    "timeout": "timeout",
    "malformed_result": "malformed",
    "stale_result": "stale",
    "permission_denied": "permission_denied",
}

Plan = dict[str, dict[str, Any]]


def plan_for(condition: str, tool: str | None) -> Plan:
    """Return the plan that makes a tool condition true; an empty one for `success`.

    Args:
        condition: Value of the `tool_condition` axis.
        tool: The tool of the situation, None when it is about none or several.
    """
    mode = MODE_OF_CONDITION.get(condition)
    if mode is None:
        return {}
    entry: dict[str, Any] = {"mode": mode, "rate": 1.0}
    if mode in _RECOVER:
        entry["times"] = 1
    return {tool or ANY_TOOL: entry}


class FaultPlan:
    """The faults of one rollout, served to the calls they match until they are used up."""

    def __init__(self, plan: Mapping[str, Mapping[str, Any]] | None, seed: object) -> None:
        self.plan: Plan = {tool: dict(entry) for tool, entry in (plan or {}).items()}
        self._left = {tool: _times(tool, entry) for tool, entry in self.plan.items()}
        self._seed = seed

    def mode_for(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Return the fault the next call of a tool meets, and count it as served."""
        key = tool if tool in self.plan else ANY_TOOL
        entry = self.plan.get(key)
        if entry is None or self._left[key] == 0:
            return None
        mode = entry.get("mode")
        if mode not in MODE_OF_CONDITION.values():
            return None
        rate = float(entry.get("rate", 1.0))
        if rate < 1 and share(self._seed, tool, jsonio.text(arguments)) >= rate:
            return None
        self._left[key] -= 1
        return str(mode)


def _times(tool: str, entry: Mapping[str, Any]) -> int:
    times = entry.get("times", 1 if entry.get("mode") in _RECOVER else None)
    if times is None:
        return -1  # never used up
    if isinstance(times, bool) or not isinstance(times, int) or times < 0:
        raise InputError(f"faults[{tool!r}]: times={times!r} must be a whole number, 0 or more")
    return times
