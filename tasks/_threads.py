"""Plain functions off the event loop: a worker thread behind one limiter."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

import anyio.to_thread

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *args: object, **kwargs: object) -> T:
    """Run a plain function in a worker thread and return its result.

    Cancelling the task abandons the wait, not the thread: a plain function runs to its end.
    """
    return await anyio.to_thread.run_sync(
        partial(function, *args, **kwargs), abandon_on_cancel=True
    )
