"""Jobs on the Hub as the flows have them: start one, then look until it is over.

A look is short and is tried again while the job runs. Whoever dies or is cancelled in between
ends a wait, never the job.
"""

from __future__ import annotations

import math
from typing import Any

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.runtime import flow_run
from prefect.tasks import Task

import whileai_core as core
from tasks.credentials import credential_in
from whileai_core.errors import PlatformError, StillRunning
from whileai_core.platform._hub import hf_publish_result, import_hf_result, start_import

POLL = 2.5
_LONGEST_LOOK = 60


async def while_running(task: Task[Any, Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Look again while the job runs, or when the look itself failed in a way that passes."""
    try:
        await state.aresult()
    except PlatformError as error:
        return error.retryable
    except TimeoutError:
        return True
    except Exception:
        return False
    return False


def looking(of: Task[Any, Any], timeout: float) -> Task[Any, Any]:
    """Return a look that is repeated every `POLL` seconds for about `timeout` seconds."""
    return of.with_options(retries=math.ceil(timeout / POLL), retry_delay_seconds=POLL)


@task(cache_policy=NO_CACHE, task_run_name="publish-{dataset_id}")
async def begin_publish(
    dataset_id: str,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = True,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Start publishing a dataset, or join what is under way with the same target."""
    return await core.hf_publish(
        dataset_id,
        namespace=namespace,
        repo=repo,
        private=private,
        wait=False,
        api_key=await credential_in(credentials),
    )


@task(
    cache_policy=NO_CACHE,
    task_run_name="wait-{dataset_id}",
    retry_jitter_factor=0.2,
    retry_condition_fn=while_running,
    timeout_seconds=_LONGEST_LOOK,
)
async def published(dataset_id: str, credentials: str | None = None) -> dict[str, Any]:
    """Return where a dataset was published; see `looking`.

    Raises:
        StillRunning: It is not there yet.
        JobFailed: The publication failed.
    """
    hf = await hf_publish_result(dataset_id, api_key=await credential_in(credentials))
    if hf is None:
        raise StillRunning(
            f"dataset {dataset_id} is still being published; run the flow again to wait on"
        )
    return hf


@task(cache_policy=NO_CACHE, task_run_name="import-{repo}")
async def begin_import(repo: str, asked: dict[str, Any], credentials: str | None = None) -> str:
    """Start an import, or join the one under way that asks for the same; return the dataset's id.

    A flow run that is tried again gets the dataset it has begun.

    Args:
        repo: The repository.
        asked: Further arguments of `import_hf`.
        credentials: Block with credentials of the platform.
    """
    row = await start_import(
        repo, key=f"flow-run-{flow_run.id}", api_key=await credential_in(credentials), **asked
    )
    return str(row["datasetId"])


@task(
    cache_policy=NO_CACHE,
    task_run_name="wait-{dataset_id}",
    retry_jitter_factor=0.2,
    retry_condition_fn=while_running,
    timeout_seconds=_LONGEST_LOOK,
)
async def imported(dataset_id: str, credentials: str | None = None) -> dict[str, Any]:
    """Return an imported dataset; see `looking`.

    Raises:
        StillRunning: It is not complete yet.
        JobFailed: The import failed.
    """
    row = await import_hf_result(dataset_id, api_key=await credential_in(credentials))
    if row is None:
        raise StillRunning(f"{dataset_id} is still being imported; run the flow again to wait on")
    return row
