"""Runs a night in this process and kills it, as `kill -9` would, at one named moment.

usage: killed_night.py MOMENT SOURCE…
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
import signal
import sys
from collections.abc import Callable
from datetime import date
from pkgutil import resolve_name
from typing import Any

# moment -> (owner, function, which call, kill before or after it)
MOMENTS = {
    "a shard half written": ("whileai_core.rowset:RowSetWriter", "close", 2, "before"),
    "shards finished": ("whileai_core.ingest.workspace:Workspace", "merge", 1, "before"),
    "sides half written": ("whileai_core.rowset:RowSetWriter", "close", 8, "before"),
    "plan durable, nothing pushed": ("whileai_core.ingest.ledger:Ledger", "begin_push", 1, "after"),
    "train set created": ("httpx:AsyncClient", "send", 1, "after"),
    "train set uploaded": ("httpx:AsyncClient", "send", 2, "after"),
    "train set finalized": ("httpx:AsyncClient", "send", 3, "after"),
    "holdout created": ("httpx:AsyncClient", "send", 4, "after"),
    "all pushed, nothing remembered": ("whileai_core.ingest.ledger:Ledger", "commit", 1, "before"),
    "all remembered": ("whileai_core.ingest.ledger:Ledger", "commit", 1, "after"),
}


def killing(function: Callable[..., Any], call: int, when: str) -> Callable[..., Any]:
    """Wrap a function so that its nth call is the last thing this process does."""
    calls = 0

    def die(at: str) -> None:
        if calls == call and when == at:
            os.kill(os.getpid(), signal.SIGKILL)

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        die("before")
        result = function(*args, **kwargs)
        die("after")
        return result

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        die("before")
        result = await function(*args, **kwargs)
        die("after")
        return result

    return awaited if inspect.iscoroutinefunction(function) else plain


def main() -> None:
    """Arm the moment and run."""
    moment, *sources = sys.argv[1:]
    owner, name, call, when = MOMENTS[moment]
    target = resolve_name(owner)
    setattr(target, name, killing(getattr(target, name), call, when))

    from flows.nightly import nightly

    asyncio.run(
        nightly(paths=sources, agent="support", night=date(2026, 11, 28), max_bad_share=0.1)
    )
    sys.exit("the moment never came")


if __name__ == "__main__":
    main()
