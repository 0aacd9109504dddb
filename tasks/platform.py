"""Platform operations as tasks: awaited on the network, credentials never among parameters.

`credentials` is the name of a `WhileCredentials` block; without one the credential comes from the
environment or the credentials file of the process that runs the task, and with neither it and no
URL the embedded gate serves. HTTP is retried in the core, so none of these tasks retries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from prefect import task
from prefect.cache_policies import NO_CACHE

import whileai_core as core
from tasks.credentials import credential_in
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
    lossy: bool = False,
    credentials: str | None = None,
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
        lossy=lossy,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE)
async def push_file(
    path: str | Path,
    name: str | None = None,
    parent: str | None = None,
    gate: bool = True,
    mode: str | None = None,
    purpose: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Upload a JSONL file as a dataset."""
    return await core.push_file(
        path,
        name,
        parent=parent,
        gate=gate,
        mode=mode,
        purpose=purpose,
        agent=agent,
        description=description,
        timeout=timeout,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE, task_run_name="pull-{dataset_id}")
async def pull(
    dataset_id: str, path: str | None = None, credentials: str | None = None
) -> str | list[Row]:
    """Download a dataset to a file, or return its rows."""
    pulled: str | list[Row] = await core.pull(
        dataset_id, path, api_key=await credential_in(credentials)
    )
    return pulled


@task(cache_policy=NO_CACHE)
async def datasets(credentials: str | None = None) -> dict[str, Any]:
    """List own datasets, newest first, and the storage used."""
    return await core.datasets(api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE, task_run_name="update-{dataset_id}")
async def update_dataset(
    dataset_id: str,
    purpose: str | None = None,
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Change what is passed about a dataset, and nothing else."""
    return await core.update_dataset(
        dataset_id,
        purpose=purpose,
        mode=mode,
        agent=agent,
        description=description,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE, task_run_name="delete-{dataset_id}")
async def delete_dataset(dataset_id: str, credentials: str | None = None) -> dict[str, Any]:
    """Delete a dataset for good."""
    return await core.delete_dataset(dataset_id, api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE)
async def delete_empty_datasets(
    max_rows: int = 0, dry_run: bool = False, credentials: str | None = None
) -> dict[str, Any]:
    """Delete datasets without bytes, or with at most `max_rows` rows when that is set."""
    return await core.delete_empty_datasets(
        max_rows=max_rows, dry_run=dry_run, api_key=await credential_in(credentials)
    )


@task(cache_policy=NO_CACHE, task_run_name="preview-{dataset_id}")
async def preview(dataset_id: str, credentials: str | None = None) -> dict[str, Any]:
    """Return three sample rows and the platform's report on a dataset."""
    return await core.preview(dataset_id, api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE, task_run_name="profile-{dataset_id}")
async def profile(
    dataset_id: str, force: bool = False, credentials: str | None = None
) -> dict[str, Any]:
    """Return a trainer's numbers: pass rate, gradient support, per-task pass rates."""
    return await core.profile(dataset_id, force=force, api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE, task_run_name="publish-{dataset_id}")
async def publish(
    dataset_id: str, agent: str, description: str | None = None, credentials: str | None = None
) -> dict[str, Any]:
    """Put a dataset into the public catalog."""
    return await core.publish(
        dataset_id, agent, description, api_key=await credential_in(credentials)
    )


@task(cache_policy=NO_CACHE, task_run_name="unpublish-{dataset_id}")
async def unpublish(dataset_id: str, credentials: str | None = None) -> dict[str, Any]:
    """Take a dataset out of the public catalog; its data stays."""
    return await core.unpublish(dataset_id, api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE)
async def catalog() -> dict[str, Any]:
    """Return the public catalog; needs no credential."""
    return await core.catalog()


@task(cache_policy=NO_CACHE)
async def agents(credentials: str | None = None) -> list[dict[str, Any]]:
    """List agents with their counts."""
    return await core.agents(api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE, task_run_name="register-{name}")
async def register_agent(
    name: str,
    description: str | None = None,
    tools: Sequence[Any] | None = None,
    system_prompt: str | None = None,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Create or update an agent's record; what is not passed stays as it is."""
    return await core.register_agent(
        name,
        description=description,
        tools=tools,
        system_prompt=system_prompt,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE, task_run_name="purge-{agent}")
async def purge_agent(
    agent: str, dry_run: bool = False, credentials: str | None = None
) -> dict[str, Any]:
    """Delete an agent's traces, datasets and record; `dry_run` only says what would go."""
    return await core.purge_agent(agent, dry_run=dry_run, api_key=await credential_in(credentials))
