"""When a whole step is worth another try."""

from __future__ import annotations

from typing import Any

from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from whileai_core.errors import StoreError


def when_store_failed(task: Task[Any, Any], task_run: TaskRun, state: State[Any]) -> bool:
    """Say yes to a failed store or ledger, which may pass; anything else would fail again."""
    try:
        state.result(_sync=True)  # type: ignore[call-overload]  # its types know the awaited form only
    except StoreError:
        return True
    except Exception:
        return False
    return False
