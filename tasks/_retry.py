"""When a whole step is worth another try."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from whileai_core.errors import PlatformError, StoreError

# Seconds between tries of a push while the platform is away: a restart, an update.
WHILE_AWAY = [5.0, 20.0, 60.0]


def when_store_failed(task: Task[Any, Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Say yes to a failed store or ledger, which may pass; anything else would fail again."""
    return isinstance(_error_of(state), StoreError)


def when_platform_away(task: Task[Any, Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Say yes to a platform that may answer later; the core has tried each request by then."""
    error = _error_of(state)
    return isinstance(error, PlatformError) and error.retryable


def _error_of(state: State[Any]) -> Exception | None:
    try:
        state.result(_sync=True)  # type: ignore[call-overload]  # its types know the awaited form only
    except Exception as error:
        return error
    return None
