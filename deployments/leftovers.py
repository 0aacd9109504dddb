"""Runs of this machine that a stop or a power cut left behind: begun, with no process.

Until they are Crashed they hold the slot of their deployment, and the next run is cancelled.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import (
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import State, StateType
from prefect.states import Crashed

_GOING = FlowRunFilter(
    state=FlowRunFilterState(
        type=FlowRunFilterStateType(
            any_=[StateType.PENDING, StateType.RUNNING, StateType.CANCELLING]
        )
    )
)


async def crash_leftovers(pool: str, worker: str) -> int:
    """Crash the runs whose process is gone; return how many.

    Does nothing where other workers serve the pool too: their processes are on other machines,
    and the watch over silent runs ends those.

    Args:
        pool: Work pool of the runs.
        worker: The worker of this machine.
    """
    crashed = 0
    async with get_client() as client:
        workers = await client.read_workers_for_work_pool(pool)
        if any(other.name != worker for other in workers):
            return 0
        for run in await client.read_flow_runs(flow_run_filter=_GOING):
            if run.work_pool_name == pool and _is_left(run.infrastructure_pid):
                await client.set_flow_run_state(run.id, _gone(), force=True)
                crashed += 1
    return crashed


def _gone() -> State[Any]:
    return Crashed(message="Its process has ended. Run it again: nothing is taken twice.")


def _is_left(pid: str | None) -> bool:
    """Whether no process is behind a run; one that was cut off before its start has no pid."""
    return not pid or (pid.isdecimal() and not _is_there(int(pid)))


def _is_there(pid: int) -> bool:
    """Whether the process runs; its number may belong to another program by now."""
    if Path("/proc/self").exists():
        try:
            return b"prefect" in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def main(pool: str, worker: str) -> None:
    """Run it in a process of its own."""
    asyncio.run(crash_leftovers(pool, worker))
