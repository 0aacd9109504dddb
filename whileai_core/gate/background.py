"""Jobs of a gate that is embedded in a process: done in a thread of their own.

An operation opens the embedded gate and closes it again, and a job on the Hub outlasts that. So
a thread opens the same gate for itself and works until no job is left. The process does not end
before it has.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  cannot be imported once a process is ending
import logging
import threading
from typing import TYPE_CHECKING

import anyio

from whileai_core.gate import hubjobs, jobs
from whileai_core.gate.state import open_gate

if TYPE_CHECKING:
    from whileai_core.gate.settings import GateSettings

_log = logging.getLogger(__name__)
_LONGEST_WAIT = 1.0
_lock = threading.Lock()
_wanted: set[GateSettings] = set()
_threads: dict[GateSettings, threading.Thread] = {}


def work_soon(settings: GateSettings) -> None:
    """See to it that a thread of this process works on a gate's jobs for the Hub."""
    with _lock:
        _wanted.add(settings)
        if settings not in _threads:
            thread = threading.Thread(target=_run, args=(settings,), name="whileai-gate-jobs")
            _threads[settings] = thread
            thread.start()


def _run(settings: GateSettings) -> None:
    while True:
        with _lock:
            if settings not in _wanted:
                del _threads[settings]
                return
            _wanted.remove(settings)
        try:
            anyio.run(_work, settings)
        except Exception:  # whoever opens the gate next begins again
            _log.warning("background jobs cannot be worked on now", exc_info=True)


async def _work(settings: GateSettings) -> None:
    async with open_gate(settings) as gate:
        while True:
            await jobs.run_due(gate, hubjobs.HANDLERS)
            wait = await jobs.seconds_until_due(gate, hubjobs.HANDLERS)
            if wait is None:
                return
            await anyio.sleep(min(wait, _LONGEST_WAIT))
