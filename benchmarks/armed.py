"""The flows with moments armed: programs are killed there, as `kill -9` would do it.

Used as the entrypoint of deployments by `benchmarks.recovery`, and by tests. The blows come from
the file that RECOVERY_ORDER names: `{"flow": …, "blows": [[moment, pid] …]}`; without a pid this
process is the one that ends. A blow is taken off the file when it is dealt, and the file is gone
with the last, so that a second run is undisturbed.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True)
class Moment:
    """Before or after the nth call of a function."""

    owner: str
    function: str
    call: int
    when: str


_TRANSPORT = "whileai_core.platform.transport:Transport"
_WRITER = "whileai_core.rowset:RowSetWriter"
_WORKSPACE = "whileai_core.ingest.workspace:Workspace"
_LEDGER = "whileai_core.ingest.ledger:Ledger"
NIGHTLY = {
    "run begun": Moment(_WORKSPACE, "sweep", 1, "before"),
    "a shard half written": Moment(_WRITER, "close", 2, "before"),
    "shards finished": Moment(_WORKSPACE, "merge", 1, "before"),
    "sides half written": Moment(_WRITER, "close", 8, "before"),
    "plan durable, nothing pushed": Moment(_LEDGER, "begin_push", 1, "after"),
    "train set created": Moment(_TRANSPORT, "post", 1, "after"),
    "train set uploaded": Moment(_TRANSPORT, "upload", 1, "after"),
    "holdout created": Moment(_TRANSPORT, "post", 3, "after"),
    "all pushed, nothing remembered": Moment(_LEDGER, "commit", 1, "before"),
    "all remembered": Moment(_LEDGER, "commit", 1, "after"),
}
_JOURNAL = "whileai_core.climb.journal:Journal"
_CHECKPOINT = "whileai_core.simulation.checkpoint:Checkpoint"
HILL_CLIMB = {
    "climb begun": Moment(_JOURNAL, "sweep", 1, "before"),
    "start known": Moment(_JOURNAL, "write", 1, "after"),
    "round 1 half rolled out": Moment(_CHECKPOINT, "add_row", 20, "after"),
    "round 1 rolled out, not kept": Moment(_JOURNAL, "write", 3, "before"),
    "round 1 graded": Moment(_JOURNAL, "write", 5, "after"),
    "round 1 created": Moment(_TRANSPORT, "post", 1, "after"),
    "round 1 pushed, not remembered": Moment(_JOURNAL, "write", 6, "before"),
    "round 1 half measured": Moment(_CHECKPOINT, "add_row", 80, "after"),
    "round 1 done": Moment(_JOURNAL, "write", 11, "after"),
    "round 2 created": Moment(_TRANSPORT, "post", 3, "after"),
}
MOMENTS = {"nightly": NIGHTLY, "hill-climb": HILL_CLIMB}


def arm(moment: Moment, strike: Callable[[], None]) -> None:
    """Call `strike` at that moment of this process."""
    owner = resolve_name(moment.owner)
    function = getattr(owner, moment.function)
    calls = 0

    def at(when: str) -> None:
        if calls == moment.call and when == moment.when:
            strike()

    @functools.wraps(function)
    def plain(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        at("before")
        result = function(*args, **kwargs)
        at("after")
        return result

    @functools.wraps(function)
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        at("before")
        result = await function(*args, **kwargs)
        at("after")
        return result

    setattr(owner, moment.function, awaited if inspect.iscoroutinefunction(function) else plain)


def _obey(path: Path) -> None:
    """Arm what the order says; of what has been dealt already nothing is left in it."""
    path.with_suffix(".pid").write_text(str(os.getpid()))
    if not path.exists():
        return
    order = json.loads(path.read_text())
    for moment in dict.fromkeys(moment for moment, _ in order["blows"]):
        arm(MOMENTS[order["flow"]][moment], functools.partial(_deal, path, order, moment))


def _deal(path: Path, order: dict[str, Any], moment: str) -> None:
    dealt = [pid for name, pid in order["blows"] if name == moment]
    order["blows"] = [blow for blow in order["blows"] if blow[0] != moment]
    if order["blows"]:
        path.write_text(json.dumps(order))
    else:
        path.unlink()
    for pid in dealt:
        os.kill(pid or os.getpid(), signal.SIGKILL)


if "RECOVERY_ORDER" in os.environ:
    _obey(Path(os.environ["RECOVERY_ORDER"]))

from flows.hill_climb import hill_climb  # noqa: E402 - armed before it looks anything up
from flows.nightly import nightly  # noqa: E402

__all__ = ["MOMENTS", "NIGHTLY", "Moment", "arm", "hill_climb", "nightly"]
