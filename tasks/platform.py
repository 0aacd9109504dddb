"""Platform operations as tasks: awaited on the network, credentials never among parameters.

The credential comes from the environment or the credentials file of the process that runs the
task; with neither it and no URL, the embedded gate serves. HTTP is retried in the core, so none
of these tasks retries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from prefect import task
from prefect.cache_policies import NO_CACHE

import whileai_core as core
from whileai_core.rows import Row
from whileai_core.rowset import RowSet

Rows: TypeAlias = RowSet | Iterable[Row]


@task(cache_policy=NO_CACHE, task_run_name="push-{name}")
async def push_rows(
    rows: Rows,
    name: str,
    parent: str | None = None,
    gate: bool = False,
    mode: str | None = None,
    purpose: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    endorsed: Sequence[str] = (),
    strict_hacks: bool = False,
    prove_effect: float = 0.05,
    holdout: float | None = None,
    publish: bool = False,
    timeout: float | None = None,
) -> dict[str, Any]:
    """Upload rows as a dataset, optionally with a linked holdout; a repeat pushes nothing new."""
    return await core.push_rows(
        rows,
        name,
        parent=parent,
        gate=gate,
        mode=mode,
        purpose=purpose,
        agent=agent,
        description=description,
        endorsed=endorsed,
        strict_hacks=strict_hacks,
        prove_effect=prove_effect,
        holdout=holdout,
        publish=publish,
        timeout=timeout,
    )


@task(cache_policy=NO_CACHE)
async def push_file(
    path: str | Path,
    name: str | None = None,
    parent: str | None = None,
    gate: bool = True,
    mode: str | None = None,
) -> dict[str, Any]:
    """Upload a JSONL file as a dataset."""
    return await core.push_file(path, name, parent=parent, gate=gate, mode=mode)


@task(cache_policy=NO_CACHE, task_run_name="pull-{dataset_id}")
async def pull(dataset_id: str, path: str | None = None) -> str | list[Row]:
    """Download a dataset to a file, or return its rows."""
    return await core.pull(dataset_id, path)


@task(cache_policy=NO_CACHE)
async def datasets() -> dict[str, Any]:
    """List own datasets, newest first, and the storage used."""
    return await core.datasets()


@task(cache_policy=NO_CACHE, task_run_name="update-{dataset_id}")
async def update_dataset(
    dataset_id: str,
    purpose: str | None = None,
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
) -> dict[str, Any]:
    """Change what is passed about a dataset, and nothing else."""
    return await core.update_dataset(
        dataset_id, purpose=purpose, mode=mode, agent=agent, description=description
    )


@task(cache_policy=NO_CACHE, task_run_name="delete-{dataset_id}")
async def delete_dataset(dataset_id: str) -> dict[str, Any]:
    """Delete a dataset for good."""
    return await core.delete_dataset(dataset_id)
