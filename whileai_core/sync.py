"""The operations as blocking calls, with the signatures they have in `whileai_core`.

>>> from whileai_core import sync
>>> sync.opening_share([{"prompt": "", "steps": [{"text": "Hello!"}]}])
1.0

Operations on rows are plain functions and are the same objects here. Operations on the platform
and simulations run in an event loop of their own. They may also be called where a loop is running
already (a notebook, a callback): the work then goes to another thread, and the calling loop stands
still until it is done. In async code await the operation of `whileai_core` instead.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import whileai_core
from whileai_core import platform
from whileai_core.simulation import evaluating as _evaluating
from whileai_core.simulation import from_traces as _from_traces
from whileai_core.simulation import simulating as _simulating

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from whileai_core import build_dimensions as build_dimensions
    from whileai_core import dimensions_from_traces as dimensions_from_traces
    from whileai_core import drop_leaky_rows as drop_leaky_rows
    from whileai_core import flaw_rows as flaw_rows
    from whileai_core import format_trace_report as format_trace_report
    from whileai_core import infer_harness as infer_harness
    from whileai_core import leakage_report as leakage_report
    from whileai_core import load_traces as load_traces
    from whileai_core import mine_traces as mine_traces
    from whileai_core import opening_share as opening_share
    from whileai_core import rows_from_otel as rows_from_otel
    from whileai_core import split_pseudo_production as split_pseudo_production
    from whileai_core import tools_from_traces as tools_from_traces
    from whileai_core import trace_report as trace_report

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(operation: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    @functools.wraps(operation)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(operation(*args, **kwargs))
        return _in_thread(lambda: asyncio.run(operation(*args, **kwargs)))

    return call


def _in_thread(work: Callable[[], T]) -> T:
    """Run in a thread of its own, with the caller's context variables; errors come through."""
    results: list[T] = []
    errors: list[BaseException] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            results.append(context.run(work))
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="whileai-sync")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


agents = _blocking(platform.agents)
catalog = _blocking(platform.catalog)
datasets = _blocking(platform.datasets)
delete_dataset = _blocking(platform.delete_dataset)
delete_empty_datasets = _blocking(platform.delete_empty_datasets)
evaluate = _blocking(_evaluating.evaluate)
hf_publish = _blocking(platform.hf_publish)
hf_publish_run = _blocking(platform.hf_publish_run)
hf_status = _blocking(platform.hf_status)
import_hf = _blocking(platform.import_hf)
issue_delegated_credential = _blocking(platform.issue_delegated_credential)
preview = _blocking(platform.preview)
profile = _blocking(platform.profile)
publish = _blocking(platform.publish)
pull = _blocking(platform.pull)
purge_agent = _blocking(platform.purge_agent)
push_file = _blocking(platform.push_file)
push_rows = _blocking(platform.push_rows)
refresh_delegated_credential = _blocking(platform.refresh_delegated_credential)
register_agent = _blocking(platform.register_agent)
simulate = _blocking(_simulating.simulate)
simulate_from_traces = _blocking(_from_traces.simulate_from_traces)
unpublish = _blocking(platform.unpublish)
update_dataset = _blocking(platform.update_dataset)


def __getattr__(name: str) -> object:
    if name in whileai_core.__all__:
        return getattr(whileai_core, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *whileai_core.__all__})
