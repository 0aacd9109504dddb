"""Where the shards of a night are made: in this process, or on the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import anyio
from prefect.settings import PREFECT_API_URL

from tasks import night as steps
from tasks._progress import Progress
from tasks._threads import in_thread
from whileai_core.errors import MissingExtra, SettingsError, StoreError
from whileai_core.ingest.discover import ShardPlan
from whileai_core.ingest.shards import Shard
from whileai_core.ingest.workspace import Workspace
from whileai_core.platform._groups import task_group
from whileai_core.settings import Settings

_AT_ONCE = 2  # in this process; a shard keeps a core busy

_log = logging.getLogger("whileai_core.nightly")


async def make_shards(workspace: Workspace, plans: Sequence[ShardPlan]) -> list[Shard]:
    """Make the shards of a night and keep their order.

    With `WHILEAI_DASK_SCHEDULER` the cluster's workers make those whose files they can read
    (URLs); what only this machine reads is read here.
    """
    scheduler = workspace.settings.dask_scheduler
    made: dict[str, Shard] = {}

    progress = Progress("shards-read", "Shards read", len(plans))
    await progress.begin()

    async def done(shard: Shard) -> None:
        made[shard.key] = shard
        await progress.advance()
        _log.info("read shard %d of %d", len(made), len(plans))

    shared = [plan for plan in plans if plan.shared] if scheduler else []
    async with task_group() as group:
        if scheduler and shared:
            group.start_soon(_on_cluster, scheduler, workspace, shared, done)
        group.start_soon(_here, workspace, [plan for plan in plans if plan not in shared], done)
    return [made[plan.key] for plan in plans]


def check_cluster(settings: Settings) -> None:
    """Say at once what the workers of a cluster would miss.

    Raises:
        SettingsError: There is no Prefect server that they could report to.
    """
    if settings.dask_scheduler and not PREFECT_API_URL.value():
        raise SettingsError(
            "WHILEAI_DASK_SCHEDULER needs a Prefect server that the workers reach too; start one "
            "(`prefect server start`) and set PREFECT_API_URL"
        )


async def _here(
    workspace: Workspace, plans: Sequence[ShardPlan], done: Callable[[Shard], Awaitable[None]]
) -> None:
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def make(plan: ShardPlan) -> None:
        async with limiter:
            await done(await steps.normalise_shard(workspace, plan))

    async with task_group() as group:
        for plan in plans:
            group.start_soon(make, plan)


async def _on_cluster(
    scheduler: str,
    workspace: Workspace,
    plans: Sequence[ShardPlan],
    done: Callable[[Shard], Awaitable[None]],
) -> None:
    with _cluster(scheduler) as runner:
        futures = [
            await in_thread(
                runner.submit, steps.normalise_shard, {"workspace": workspace, "plan": plan}
            )
            for plan in plans
        ]
        for future in futures:
            await done(await in_thread(future.result))


@contextmanager
def _cluster(scheduler: str) -> Iterator[Any]:
    """Open Prefect's task runner for the cluster; at the end, shards not begun are called off."""
    try:
        from distributed.client import FutureCancelledError
        from distributed.comm.core import CommClosedError
        from distributed.scheduler import KilledWorker
        from prefect_dask.task_runners import DaskTaskRunner
    except ImportError as error:
        raise MissingExtra.named("dask", f"WHILEAI_DASK_SCHEDULER needs {error.name}") from None
    try:
        with DaskTaskRunner(address=scheduler) as runner:
            try:
                workers = runner.client.scheduler_info()["workers"]
            except (OSError, ValueError) as error:
                raise StoreError(
                    f"no Dask scheduler answers at {scheduler} ({error}); start it, or unset "
                    "WHILEAI_DASK_SCHEDULER to make the shards here"
                ) from error
            if not workers:
                _log.warning("the Dask cluster at %s has no workers; waiting for one", scheduler)
            yield runner
    except (KilledWorker, FutureCancelledError, CommClosedError) as error:
        raise StoreError(
            f"the Dask cluster at {scheduler} gave up: {error}; nothing was pushed. Look at its "
            "workers and run again, finished shards are kept"
        ) from error
