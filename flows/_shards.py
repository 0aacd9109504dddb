"""Where the shards of a night are made: in this process, or on the workers of a Dask cluster."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
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
_LOOK = 15.0  # seconds between two looks at a cluster's workers
_PATIENCE = 600.0  # seconds without any worker, after which somebody has to be told

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
        await in_thread(_check_workers, scheduler, runner.client)
        async with task_group() as group:
            group.start_soon(_see_to_workers, scheduler, runner.client)
            futures = [
                await in_thread(
                    runner.submit, steps.normalise_shard, {"workspace": workspace, "plan": plan}
                )
                for plan in plans
            ]
            for future in futures:
                await done(await in_thread(future.result))
            group.cancel_scope.cancel()


def _check_workers(scheduler: str, client: Any) -> None:
    """See that workers can load our tasks: one that cannot just ends, and says so nowhere else.

    Raises:
        SettingsError: There are some that cannot.
    """
    found = client.run(find_spec, steps.__name__, on_error="return")
    unfit = sorted(worker for worker, spec in found.items() if not isinstance(spec, ModuleSpec))
    if unfit:
        raise _unprepared(f"{', '.join(unfit)} of the Dask cluster at {scheduler}")


def _unprepared(who: str) -> SettingsError:
    return SettingsError(
        f"{who} cannot load our tasks; install the same version of whileai-pipelines[dask] there, "
        'and start scheduler and workers with PYTHONPATH=$(python -c "from '
        'whileai_core.cli.source_root import source_root as r; print(r())")'
    )


async def _see_to_workers(scheduler: str, client: Any) -> None:
    """Wait for workers, but not for ever: nobody is told of a night that only waits.

    Raises:
        StoreError: There has been none for ten minutes.
    """
    away = 0.0
    while away < _PATIENCE:
        try:
            workers = (await in_thread(client.scheduler_info))["workers"]
        except (OSError, ValueError):
            return  # the scheduler is gone, and with it what was asked of it
        if workers:
            away = 0.0
        else:
            if not away:
                _log.warning("the Dask cluster at %s has no workers; waiting for one", scheduler)
            away += _LOOK
        await anyio.sleep(_LOOK)
    raise StoreError(
        f"the Dask cluster at {scheduler} has had no workers for {_PATIENCE / 60:g} minutes; "
        "nothing was pushed. Start some and run again, finished shards are kept"
    )


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
                runner.client.scheduler_info()
            except (OSError, ValueError) as error:
                raise StoreError(
                    f"no Dask scheduler answers at {scheduler} ({error}); start it, or unset "
                    "WHILEAI_DASK_SCHEDULER to make the shards here"
                ) from error
            yield runner
    except (KilledWorker, FutureCancelledError, CommClosedError) as error:
        raise StoreError(
            f"the Dask cluster at {scheduler} gave up: {error}; nothing was pushed. Look at its "
            "workers and run again, finished shards are kept"
        ) from error
    except RuntimeError as error:
        if "deserialization of the task graph" not in str(error):
            raise
        raise _unprepared(f"the scheduler of the Dask cluster at {scheduler}") from error
