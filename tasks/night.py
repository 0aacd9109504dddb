"""The steps of a night as tasks; each is a thin cover over one function of the core.

A step that fails on the store or ledger is tried again (a busy database, a disk that is being
cleared). Finished shards and datasets are found again by what they hold, so trying again
repeats nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import prefect.artifacts
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks._events import emit
from tasks._retry import when_store_failed
from tasks._threads import in_thread
from tasks.credentials import secret_in
from whileai_core.ingest.discover import ShardPlan
from whileai_core.ingest.gatecheck import GateCheck, check_gate
from whileai_core.ingest.judging import Judged, JudgeOrder
from whileai_core.ingest.merge import Merged
from whileai_core.ingest.night import NightPlan
from whileai_core.ingest.shards import Shard
from whileai_core.ingest.sides import Assignment, Sides
from whileai_core.ingest.workspace import Discovery, Workspace
from whileai_core.rowset import RowSet

DATASET_PUSHED = "whileai.dataset.pushed"
GATE_REFUSED = "whileai.gate.refused"


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=10, retry_condition_fn=when_store_failed
)
async def discover(workspace: Workspace, paths: Sequence[str]) -> Discovery:
    """Find the files that no earlier night has ingested, grouped into shards."""
    return await in_thread(workspace.discover, paths)


@task(
    cache_policy=NO_CACHE,
    task_run_name="normalise-{plan.key}",
    retries=2,
    retry_delay_seconds=10,
    retry_condition_fn=when_store_failed,
)
async def normalise_shard(workspace: Workspace, plan: ShardPlan) -> Shard:
    """Read the files of one shard into rows, spans and rejects; a finished shard is found."""
    return await in_thread(workspace.normalise, plan)


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=10, retry_condition_fn=when_store_failed
)
async def merge_shards(workspace: Workspace, shards: Sequence[Shard], night: str) -> Merged:
    """Put the shards together: each conversation once, known content left out."""
    return await in_thread(workspace.merge, shards, night=night)


@task(cache_policy=NO_CACHE)
async def keep_rejects(
    workspace: Workspace, shards: Sequence[Shard], merged: Merged, night: str
) -> str | None:
    """Write what could not be taken to quarantine and return the file, if there is one."""
    return await in_thread(workspace.keep_rejects, shards, merged, night=night)


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=10, retry_condition_fn=when_store_failed
)
async def judge_ungraded(
    workspace: Workspace, rows: RowSet, order: JudgeOrder, night: str, key: str | None = None
) -> Judged:
    """Grade the rows that have no reward, each once and within the budget.

    `key` names a Secret block with the key of the judge's endpoint.
    """
    return await workspace.judge(rows, order, night=night, api_key=await secret_in(key))


@task(cache_policy=NO_CACHE)
async def split_by_task(
    workspace: Workspace, rows: RowSet, fraction: float, seed: int, threshold: float
) -> Assignment:
    """Give every task its side; one that fell on a side in an earlier night stays there."""
    return await in_thread(workspace.split, rows, fraction=fraction, seed=seed, threshold=threshold)


@task(cache_policy=NO_CACHE)
async def check_leakage(
    workspace: Workspace, rows: RowSet, assignment: Assignment, threshold: float
) -> Sides:
    """Hold the remainder against everything held out, and leave near copies out of it."""
    return await in_thread(workspace.check_leakage, rows, assignment, threshold=threshold)


@task(cache_policy=NO_CACHE)
async def publish_gate(train: RowSet) -> GateCheck:
    """Judge the training set as the publish gate would; refusing is the flow's business."""
    return await in_thread(check_gate, train)


@task(cache_policy=NO_CACHE)
async def plan_push(
    workspace: Workspace,
    night: str,
    found: Discovery,
    merged: Merged,
    sides: Sides,
    report: dict[str, Any],
    gate: dict[str, Any] | None,
    quarantine: str | None,
    judging: dict[str, Any] | None = None,
) -> NightPlan:
    """Put together everything a push needs, and what the ledger will remember of it."""
    return await in_thread(
        workspace.plan,
        night=night,
        found=found,
        merged=merged,
        sides=sides,
        report=report,
        gate=gate,
        quarantine=quarantine,
        judging=judging,
    )


@task(cache_policy=NO_CACHE)
async def begin_push(workspace: Workspace, plan: NightPlan) -> None:
    """Make the night's plan durable; from here on a killed run is finished by the next."""
    await in_thread(workspace.ledger.begin_push, plan.to_dict())


@task(cache_policy=NO_CACHE)
async def commit_night(workspace: Workspace, plan: NightPlan, result: dict[str, Any]) -> None:
    """Remember everything of the night, in one transaction."""
    await in_thread(workspace.ledger.commit, plan.changes, result)


@task(
    cache_policy=NO_CACHE,
    task_run_name="announce-{entry[datasetId]}",
    retries=2,
    retry_delay_seconds=10,
    retry_condition_fn=when_store_failed,
)
async def announce(entry: dict[str, Any], agent: str, night: str) -> None:
    """Emit `whileai.dataset.pushed` for one dataset; publishing can be triggered by it."""
    await emit(
        DATASET_PUSHED,
        f"whileai.dataset.{entry['datasetId']}",
        str(entry["name"]),
        {
            "dataset_id": entry["datasetId"],
            "name": entry["name"],
            "purpose": entry["purpose"],
            "rows": entry["rows"],
            "agent": agent,
            "night": night,
        },
    )


@task(
    cache_policy=NO_CACHE, retries=2, retry_delay_seconds=10, retry_condition_fn=when_store_failed
)
async def announce_refusal(agent: str, night: str, refusal: str) -> None:
    """Emit `whileai.gate.refused`; an automation holds publishing until a person has looked."""
    await emit(
        GATE_REFUSED,
        f"whileai.gate.{agent}",
        f"publish gate of {agent}",
        {"agent": agent, "night": night, "refusal": refusal},
    )


@task(cache_policy=NO_CACHE, task_run_name="show-{key}")
async def show(key: str, markdown: str, description: str) -> UUID:
    """Attach a page to the run and return its id."""
    return await prefect.artifacts.acreate_markdown_artifact(
        key=key, markdown=markdown, description=description
    )
