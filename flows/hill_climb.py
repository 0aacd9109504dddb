"""The hill climb: failures in, aimed simulations out, round after round.

Per round: simulate, evaluate, push behind the gate, measure on held-out tasks, compare with the
round before; between rounds an improver may make the next agent. A climb that was killed goes on
where it was: finished rounds are found, a half-finished one goes on from its checkpoint.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from prefect import flow
from pydantic import Field

from flows._runs import open_run, tag_run
from flows._server import prefect_api
from tasks import climb as steps
from tasks._threads import in_thread
from tasks.credentials import credential_in, secret_in
from tasks.night import show
from whileai_core.climb import Climb, ClimbPlan, stop_reason
from whileai_core.climb.pages import climb_markdown, climb_text, round_markdown
from whileai_core.errors import CutShort
from whileai_core.ingest.lock import file_lock
from whileai_core.settings import get_settings
from whileai_core.urls import check_paths

__all__ = ["as_text", "hill_climb", "run"]

as_text = climb_text

_log = logging.getLogger("whileai_core.climb")


@flow(name="hill-climb", flow_run_name="climb-{name}")
async def hill_climb(
    name: Annotated[str, Field(min_length=1)],
    agent: Annotated[str, Field(min_length=1)],
    paths: list[str] | None = None,
    dataset_id: str | None = None,
    tools: list[dict[str, Any]] | str | None = None,
    system_prompt: str = "",
    judge: str = "outcome",
    improver: str | None = None,
    rounds: Annotated[int, Field(ge=1)] = 3,
    budget: Annotated[int, Field(ge=1)] = 96,
    repeats: Annotated[int, Field(ge=1)] = 4,
    holdout_tasks: Annotated[int, Field(ge=1)] = 24,
    seed: int = 0,
    max_calls: Annotated[int, Field(ge=1)] | None = None,
    max_tokens: Annotated[int, Field(ge=1)] | None = None,
    concurrency: Annotated[int, Field(ge=1)] = 32,
    credentials: str | None = None,
    endpoint_key: str | None = None,
) -> dict[str, Any]:
    """Aim simulations at what failed, grade them, push them, and go again.

    Args:
        name: Names the climb, its datasets, and the agent on the platform.
        agent: First agent: module:attribute within the allowed packages, or a chat endpoint such
            as vllm:MODEL@URL.
        paths: Traces to start from: files, folders, globs or URLs.
        dataset_id: Dataset to start from, beside or instead of paths.
        tools: Tool schemas, or module:attribute; empty reads them off the traces.
        system_prompt: First system prompt, for a chat endpoint.
        judge: outcome, module:attribute, or a chat endpoint that judges by rubric.
        improver: Makes the next agent out of the failures; empty keeps the agent.
        rounds: Most rounds.
        budget: Rows a round may roll out.
        repeats: Rollouts per ask.
        holdout_tasks: Tasks held out to compare the rounds on.
        seed: Another seed draws other situations.
        max_calls: Model calls the whole climb may make.
        max_tokens: Model tokens the whole climb may use.
        concurrency: Rollouts at once.
        credentials: Name of a While Credentials block; empty means the worker's own.
        endpoint_key: Name of a Secret block with the chat endpoints' key; empty means the
            worker's own.

    Returns:
        `name`, `rounds` (one record each), `stopped` and `reason`, `known` (rounds that an
        earlier run had finished) and `folder` (where the climb is kept).

    Raises:
        SourceNotFound: A path names nothing.
        InputError: There is nothing to go by, or a reference is wrong.
    """
    check_paths(paths or ())
    plan = ClimbPlan(
        name=name.strip().lower(),
        agent=agent,
        system_prompt=system_prompt,
        tools=tools,
        paths=tuple(paths or ()),
        dataset=dataset_id,
        judge=judge,
        improver=improver,
        rounds=rounds,
        budget=budget,
        repeats=repeats,
        holdout_tasks=holdout_tasks,
        seed=seed,
        max_calls=max_calls,
        max_tokens=max_tokens,
        concurrency=concurrency,
    )
    await open_run(f"agent:{plan.name}")
    climb = await _opened(plan, credentials, endpoint_key)
    async with _locked(climb):
        await steps.gather(climb)
        records: list[dict[str, Any]] = []
        stop: tuple[str, str] | None = None
        known = 0
        while stop is None:
            number = len(records) + 1
            try:
                if records:
                    await steps.improve_agent(climb, len(records))
                record = climb.finished(number)
                known += record is not None
                records.append(
                    record or await climb_round(plan.to_dict(), number, credentials, endpoint_key)
                )
                stop = stop_reason(records, most=plan.rounds)
            except CutShort as error:
                kept = f"; {error.rows} rows that landed are kept" if error.rows else ""
                stop = error.code, f"round {number}: {error}{kept}"
            page = climb_markdown(
                plan.name, records, stop and stop[1], page=get_settings().dataset_page
            )
            await show("climb", page, "Start here: pass@1 by round, and why the climb ended")
    code, reason = stop
    _log.info("climb %s stopped: %s", plan.name, reason)
    return {
        "name": plan.name,
        "rounds": records,
        "stopped": code,
        "reason": reason,
        "known": known,
        "folder": str(climb.journal.folder),
    }


@flow(name="climb-round", flow_run_name="round-{number}")
async def climb_round(
    plan: dict[str, Any],
    number: int,
    credentials: str | None = None,
    endpoint_key: str | None = None,
) -> dict[str, Any]:
    """One round of a climb; steps that are done are found again.

    Args:
        plan: The climb's plan.
        number: Which round, from 1.
        credentials: Name of a While Credentials block.
        endpoint_key: Name of a Secret block.
    """
    climb = await _opened(ClimbPlan.from_dict(plan), credentials, endpoint_key)
    await steps.simulate_round(climb, number)
    await steps.evaluate_round(climb, number)
    await steps.push_round(climb, number)
    await steps.measure_round(climb, number)
    record = await steps.finish_round(climb, number)
    if record["dataset"]["datasetId"]:
        await tag_run(f"dataset:{record['dataset']['datasetId']}")
    page = round_markdown(record, page=get_settings().dataset_page)
    await show(f"climb-round-{number}", page, f"Round {number}")
    _log.info("round %d: %d rows, %d failed", number, record["rows"], record["failed"])
    return record


async def _opened(plan: ClimbPlan, credentials: str | None, endpoint_key: str | None) -> Climb:
    """Return the climb with what its blocks hold, which no parameter may carry."""
    return Climb(
        plan,
        api_key=await credential_in(credentials),
        endpoint_key=await secret_in(endpoint_key),
    )


@asynccontextmanager
async def _locked(climb: Climb) -> AsyncIterator[None]:
    """One run of a climb at a time; then clear away what a killed one left."""
    lock = file_lock(climb.settings.home, f"climb-{climb.key}")
    await in_thread(lock.__enter__)
    try:
        await in_thread(climb.journal.sweep)
        yield
    finally:
        lock.__exit__(None, None, None)


def run(**parameters: Any) -> dict[str, Any]:
    """Run the flow to its end from plain code and return its result.

    Raises:
        StoreError: There is no Prefect API and a temporary server does not start.
    """
    with prefect_api():
        return asyncio.run(hill_climb(**parameters))
