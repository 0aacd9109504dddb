"""`simulate`: an agent, rolled out in situations nobody has to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError
from whileai_core.simulation.agents import AgentSpec, open_agent
from whileai_core.simulation.data import SimulationData
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.engine import Progress
from whileai_core.simulation.ground import Ground
from whileai_core.simulation.leak import LeakGate
from whileai_core.simulation.options import Options, checked_options
from whileai_core.simulation.probes import open_ended
from whileai_core.simulation.replay import situations_to_replay
from whileai_core.simulation.run import Run
from whileai_core.simulation.situations import ORDINARY, SEED, Situation
from whileai_core.simulation.worlds import Execute
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from whileai_core.simulation.agents import Agent
    from whileai_core.simulation.judges import Judge
    from whileai_core.simulation.spend import Spend

SEEDED = "seeded"


async def simulate(
    agent: Agent | None = None,
    *,
    tools: object = None,
    system_prompt: str | None = None,
    budget: int = 1000,
    time_budget: float | None = None,
    mode: str = "explore",
    situations: int | None = None,
    phrasings: int | None = None,
    repeats: int | None = None,
    repeat_policy: str | None = None,
    concurrency: int = 32,
    seed: int = 0,
    simulator: ChatEndpoint | str | bool | None = None,
    user_model: ChatEndpoint | str | None = None,
    traces: object = None,
    strategy: str = "auto",
    steering_weight: float | None = None,
    seeds: Iterable[str] | None = None,
    tasks: object = None,
    avoid: object = None,
    grader: Judge | None = None,
    execute: Execute | None = None,
    dimensions: Mapping[str, Sequence[str]] | None = None,
    hard_share: float | None = None,
    fault_rate: float | None = None,
    max_turns: int | None = None,
    temperature: float | None = None,
    timeout: float | None = None,
    checkpoint: str | Path | None = None,
    on_progress: Progress | None = None,
    model_version: str | None = None,
    spend: Spend | None = None,
) -> SimulationData:
    """Roll an agent out in a sandbox world, in situations drawn from a grid.

    The same arguments give the same rows, at any concurrency and after a resume (but for `ts`),
    as far as the agent and the models do.

    Args:
        agent: A plain or async callable of the message, or of the message and the world; a
            `ChatEndpoint` or its reference (`"openai:<model>"`); `"seeded"` for a demo agent.
        tools: The agent's tools: schemas, plain functions or tool objects.
        system_prompt: The agent's instructions; their clauses are an axis of the grid.
        budget: Rows wanted.
        time_budget: Seconds after which the run ends with what it has.
        mode: `explore` (each prompt new), `sft` (phrasings and some repeats), `rl` (repeats) or
            `adaptive`; sets what is not given.
        situations: Most situations.
        phrasings: Prompts per situation.
        repeats: Most rollouts per prompt.
        repeat_policy: `none`, `fixed`, `successive` or `adaptive`.
        concurrency: Rollouts at once.
        seed: What all draws depend on.
        simulator: A chat endpoint that writes the prompts. Default: offline templates.
        user_model: Who plays the user of a chat endpoint; default the same endpoint.
        traces: Rows (or a path) whose failures are aimed at, and never copied.
        strategy: `auto` and `trace` aim and explore a little, `targeted` only aims, `broad` only
            explores.
        steering_weight: Share of the situations that is aimed; default 0.8.
        seeds: Asks to put verbatim, first.
        tasks: Rows of an earlier run, to be rolled out once more.
        avoid: Held-out rows. No ask is a copy of theirs, and none is about their situations.
        grader: Judges rows during the run, so that labels decide on repeats.
        execute: The caller's own world: `execute(tool, arguments)`, plain or async.
        dimensions: Axes of the grid to replace.
        hard_share: Share of hard situations among those not aimed; default 0.4.
        fault_rate: Share of situations with a fault among those not aimed.
        max_turns: Completions of a chat endpoint per rollout.
        temperature: Of a chat endpoint.
        timeout: Seconds per call of a callable agent, or per completion.
        checkpoint: File to keep rows in; a run that finds its own there goes on from it. One of
            an agent whose source is another is refused, unless `model_version` names both.
        on_progress: Called with `rows` and `budget` after each row.
        model_version: What rows call the agent; default its model or name.
        spend: Budget for model calls, maybe shared with others.

    Raises:
        InputError: An argument is unknown, out of range, or at odds with another.
        TypeError: `grader` or `execute` is nothing to call.
        SettingsError: An endpoint's key is not set.
    """
    options = checked_options(
        mode=mode,
        budget=budget,
        phrasings=phrasings,
        repeats=repeats,
        repeat_policy=repeat_policy,
        fault_rate=fault_rate,
        hard_share=hard_share,
        strategy=strategy,
        steering_weight=steering_weight,
        has_traces=traces is not None,
        situations=situations,
        seed=seed,
        concurrency=concurrency,
        time_budget=time_budget,
    )
    _check_callables(grader, execute)
    schemas = tool_schemas(tools)
    chosen, told = _chosen_agent(agent, system_prompt, schemas, seed)
    ground = Ground.of(schemas, told or "", traces, dimensions)
    if tasks is not None and seeds is not None:
        raise InputError("tasks= replays given situations and seeds= adds new ones; pass one")
    settled, warnings = _seeded_situations(seeds, options)
    if tasks is not None:
        settled, most = situations_to_replay(tasks, seed)
        options = replace(
            options,
            repeats=most if repeats is None else options.repeats,
            policy="fixed" if repeat_policy is None else options.policy,
        )
    run = Run(
        options=options,
        ground=ground,
        settled=settled,
        replays=tasks is not None,
        avoid=None if avoid is None else LeakGate.of_rows(avoid, held_out=True),
        simulator=simulator or None,
        grader=grader,
        execute=execute,
        checkpoint=checkpoint,
        on_progress=on_progress,
        spend=spend,
        warnings=warnings,
    )
    async with open_agent(
        chosen,
        tools=schemas,
        system_prompt=told,
        user_model=user_model,
        spend=spend,
        max_turns=max_turns,
        temperature=temperature,
        timeout=timeout,
        concurrency=concurrency,
    ) as runner:
        return await run.of(runner, model_version)


def _chosen_agent(
    agent: Agent | AgentSpec | None,
    system_prompt: str | None,
    tools: list[dict[str, Any]],
    seed: int,
) -> tuple[Agent, str | None]:
    """Return the agent itself and what it is told."""
    if agent is None:
        raise InputError(
            "there is no agent: pass a callable, a chat endpoint such as 'openai:<model>', or "
            "agent='seeded' for a demo agent that needs no model"
        )
    if isinstance(agent, AgentSpec):
        system_prompt = system_prompt if system_prompt is not None else agent.system_prompt
        agent = agent.agent
    if agent == SEEDED:
        from whileai_core.simulation.seeded import seeded_agent

        return seeded_agent(tools, seed=seed), system_prompt
    if isinstance(agent, str) and not ChatEndpoint.is_reference(agent):
        from whileai_core.simulation.references import resolve_agent

        return resolve_agent(agent), system_prompt
    return agent, system_prompt


def _check_callables(grader: object, execute: object) -> None:
    named = isinstance(grader, ChatEndpoint) or (isinstance(grader, str) and ":" in grader)
    if grader is not None and not callable(grader) and not named and grader != "outcome":
        raise TypeError(f"grader= must be callable or name a judge, not {type(grader).__name__}")
    if execute is not None and not callable(execute):
        raise TypeError(f"execute= must be callable, not {type(execute).__name__}")


def _seeded_situations(
    seeds: Iterable[str] | None, options: Options
) -> tuple[list[Situation], list[str]]:
    """Return the situations of given asks, as many as the budget holds, and what is left out."""
    if seeds is None:
        return [], []
    listed = list(dict.fromkeys([seeds] if isinstance(seeds, str) else seeds))
    for seed in listed:
        if not isinstance(seed, str) or not seed.strip():
            raise InputError(f"seeds= must hold texts, not {seed!r}")
    fitting = max(1, options.budget // options.repeats)
    left_out = listed[fitting:]
    warnings = []
    if left_out:
        shown = ", ".join(repr(text[:80]) for text in left_out)
        warnings.append(f"the budget of {options.budget} rows does not hold the seeds {shown}")
    situations = [
        open_ended(text, tier=ORDINARY, origin=SEED, seed=options.seed, writer=SEED)
        for text in listed[:fitting]
    ]
    return situations, warnings
