"""Rows of a run, in schema version 1."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from whileai_core import jsonio
from whileai_core.errors import AgentError
from whileai_core.rows import SCHEMA_VERSION, Row, Step
from whileai_core.simulation.agents import Runner
from whileai_core.simulation.repeats import Group
from whileai_core.simulation.rollout import Rollout
from whileai_core.simulation.situations import (
    PROBE,
    REPLAY,
    SEED,
    SUCCESS,
    Situation,
    default_world_seed,
)
from whileai_core.simulation.verbs import verb_of
from whileai_core.simulation.worlds import World
from whileai_core.traces.behaviour import signature_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.dimensions import SPECIAL_TOOLS
from whileai_core.traces.faults import fault_of_call

# What a judge or a world may know and an agent must not; never in an exported row.
_PRIVILEGED = frozenset(
    {"privileged", "principle", "hidden_state", "reference", "rubric", "vector"}
)
# What passed between agent and tools is the agent's own; a tool may well have such an argument.
_AS_IT_WAS = frozenset({"arguments", "result"})
_HEAD = 120
_OPEN_ENDED = frozenset({PROBE, SEED})


@dataclass(frozen=True, slots=True)
class Provenance:
    """What all rows of a run say about where they come from.

    Attributes:
        seed: Seed of the run.
        model_version: The agent.
        system_prompt: Its instructions.
        runner: The opened agent.
    """

    seed: int
    model_version: str
    system_prompt: str
    runner: Runner

    @property
    def prompt_hash(self) -> str:
        """16 hex digits of the hash of the system prompt."""
        return sha256(self.system_prompt.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def row_of(group: Group, rollout: Rollout, world: World, index: int, provenance: Provenance) -> Row:
    """Return the row of one rollout.

    What is said of faults and of the state of the world is what the agent really met: a plan
    that was never served is in `faults_scheduled`.
    """
    situation = group.situation
    usual_world = default_world_seed(provenance.seed, situation.id)
    row: Row = {
        "schema_version": SCHEMA_VERSION,
        "prompt": group.prompt,
        "messages": _messages(group.prompt, rollout),
        "steps": rollout.steps,
        "final_text": rollout.final_text,
        "scenario_id": situation.id,
        "world_state": situation.world_state if world.asked else None,
        "faults": (situation.faults or None) if world.served else None,
        "faults_scheduled": None if world.served else situation.faults or None,
        "tier": situation.tier,
        "ask_family": _ask_family(situation),
        "arm": "open_ended" if situation.origin in _OPEN_ENDED else "structured",
        "rollout_index": index,
        "seed": provenance.seed,
        "world_seed": None if situation.world_seed == usual_world else situation.world_seed,
        "model_version": provenance.model_version,
        "policy_version": f"{provenance.model_version}@{provenance.prompt_hash}",
        "writer_model": group.writer,
        "user_model": provenance.runner.user_model,
        "sampling": provenance.runner.sampling,
        "usage": rollout.usage,
        "finish_reason": rollout.finish_reason,
        "ended_by": rollout.ended_by,
        "parent_failure_id": situation.parent,
        "steering": situation.steering,
        "lineage": _lineage(situation, provenance),
        "ts": round(time.time(), 3),
        **rollout.extra,
    }
    calls = list(tool_calls(row))
    tools = [call.tool for call in calls]
    row["tools_used"] = list(dict.fromkeys(tools))
    row["behavior_signature"] = signature_of(row, calls).digest
    row["scenario_dimensions"] = dict(situation.assignment) or {
        "tool": tools[0] if tools else SPECIAL_TOOLS[0],
        "tool_condition": next(
            (fault for call in calls if (fault := fault_of_call(call))), SUCCESS
        ),
        "origin": "realized",
    }
    try:
        exported: Row = jsonio.strict(_exported(row))
    except ValueError as error:
        raise AgentError(f"its steps are {error}", kind="unreadable_reply") from error
    return exported


def _exported(value: Any) -> Any:
    """Return a row without what must not leave the run, at any depth, and without nulls."""
    if isinstance(value, Mapping):
        return {
            key: inner if key in _AS_IT_WAS else _exported(inner)
            for key, inner in value.items()
            if inner is not None and key not in _PRIVILEGED and not str(key).startswith("_")
        }
    if isinstance(value, list) and value and not isinstance(value[0], str):
        return [_exported(item) for item in value]
    return value


def _messages(prompt: str, rollout: Rollout) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    for step in rollout.steps:
        messages += _turns(step)
    last = messages[-1]
    said = last["role"] == "assistant" and last["content"] == rollout.final_text
    if rollout.final_text and not said:
        messages.append({"role": "assistant", "content": rollout.final_text})
    return messages


def _turns(step: Step) -> list[dict[str, Any]]:
    if "tool" in step:
        call = {"name": step["tool"], "arguments": step.get("arguments") or {}}
        result = jsonio.text(step.get("result"))
        return [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": step["tool"], "content": result},
        ]
    if "user" in step:
        return [{"role": "user", "content": step["user"]}]
    return [{"role": "assistant", "content": step.get("text", "")}]


def _ask_family(situation: Situation) -> str:
    tool = situation.assignment.get("tool")
    if tool is None:
        return "open_ended"
    return tool if tool in SPECIAL_TOOLS else str(verb_of(tool))


def _lineage(situation: Situation, provenance: Provenance) -> dict[str, Any]:
    return {
        "agent_version": provenance.runner.version,
        "system_prompt_sha": provenance.prompt_hash,
        "system_prompt_head": provenance.system_prompt[:_HEAD],
        "system_prompt_chars": len(provenance.system_prompt),
        "replayed": True if situation.origin == REPLAY else None,
    }
