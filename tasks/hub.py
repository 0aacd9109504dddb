"""Hugging Face operations as tasks: the platform does the work, these start it and wait.

`credentials` is the name of a `WhileCredentials` block, as in `tasks.platform`.
"""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE

import whileai_core as core
from tasks.credentials import credential_in


@task(cache_policy=NO_CACHE)
async def hf_status(credentials: str | None = None) -> dict[str, Any]:
    """Say which Hugging Face account the platform is connected to."""
    return await core.hf_status(api_key=await credential_in(credentials))


@task(cache_policy=NO_CACHE, task_run_name="hf-publish-{dataset_id}")
async def hf_publish(
    dataset_id: str,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = False,
    wait: bool = True,
    timeout: float = 600.0,
    poll: float = 2.5,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Publish a dataset to a Hub dataset repository."""
    return await core.hf_publish(
        dataset_id,
        namespace=namespace,
        repo=repo,
        private=private,
        wait=wait,
        timeout=timeout,
        poll=poll,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE, task_run_name="hf-publish-run-{run_id}")
async def hf_publish_run(
    run_id: str,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = True,
    wait: bool = True,
    timeout: float = 900.0,
    poll: float = 3.0,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Publish a run's adapter to a Hub model repository."""
    return await core.hf_publish_run(
        run_id,
        namespace=namespace,
        repo=repo,
        private=private,
        wait=wait,
        timeout=timeout,
        poll=poll,
        api_key=await credential_in(credentials),
    )


@task(cache_policy=NO_CACHE, task_run_name="import-{repo}")
async def import_hf(
    repo: str,
    split: str = "train",
    revision: str | None = None,
    config: str | None = None,
    name: str | None = None,
    purpose: str = "train",
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    max_rows: int = 100_000,
    wait: bool = True,
    timeout: float = 900.0,
    poll: float = 3.0,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Import one split of a Hub dataset as rows."""
    return await core.import_hf(
        repo,
        split=split,
        revision=revision,
        config=config,
        name=name,
        purpose=purpose,
        mode=mode,
        agent=agent,
        description=description,
        max_rows=max_rows,
        wait=wait,
        timeout=timeout,
        poll=poll,
        api_key=await credential_in(credentials),
    )
