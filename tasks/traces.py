"""Trace operations as tasks: plain functions of the core, run in a worker thread.

Rows may be a list, any iterable, or a `RowSet` handle. None of these tasks retries: the same
rows give the same answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from prefect import task
from prefect.cache_policies import NO_CACHE

import whileai_core as core
from tasks._threads import in_thread
from whileai_core.rows import Row
from whileai_core.rowset import RowSet

Rows: TypeAlias = RowSet | Iterable[Any]


@task(cache_policy=NO_CACHE)
async def load_traces(source: Any) -> list[Row]:
    """Read any supported source (path, URL, iterable of records) as rows.

    For whole nights use the ingest steps of `tasks.night`, which never hold all rows.
    """
    return await in_thread(core.load_traces, source)


@task(cache_policy=NO_CACHE)
async def rows_from_otel(
    source: Any, reward_keys: Sequence[str] = ("whileai.reward",)
) -> list[Row]:
    """Turn spans (an OTLP batch, a file, an iterable of spans) into one row per conversation."""
    return await in_thread(core.rows_from_otel, source, reward_keys=reward_keys)


@task(cache_policy=NO_CACHE)
async def mine_traces(rows: Rows) -> dict[str, Any]:
    """Count what the agent did: tools, faults, world states, behaviours, flawed rows."""
    return await in_thread(core.mine_traces, rows)


@task(cache_policy=NO_CACHE)
async def trace_report(
    traces: Rows, tools: Sequence[Any] | None = None, policy: str = ""
) -> dict[str, Any]:
    """Report what the traces hold and, with tools, which grid values they push forward."""
    return await in_thread(core.trace_report, traces, tools, policy)


@task(cache_policy=NO_CACHE)
async def format_trace_report(report: Mapping[str, Any]) -> str:
    """Write a trace report as text."""
    return await in_thread(core.format_trace_report, report)


@task(cache_policy=NO_CACHE)
async def opening_share(rows: Rows) -> float:
    """Return the share of conversations that the assistant opens."""
    return await in_thread(core.opening_share, rows)


@task(cache_policy=NO_CACHE)
async def tools_from_traces(traces: Rows) -> list[dict[str, Any]]:
    """Return the tool surface as observed: names and the union of argument names."""
    return await in_thread(core.tools_from_traces, traces)


@task(cache_policy=NO_CACHE)
async def infer_harness(rows: Rows) -> dict[str, Any]:
    """Draft tool schemas from observed calls, with JSON types and required keys."""
    return await in_thread(core.infer_harness, rows)


@task(cache_policy=NO_CACHE)
async def dimensions_from_traces(
    rows: Rows,
    tools: Sequence[Any],
    policy: str = "",
    broaden: bool = True,
    fault_to_axis: Mapping[str, tuple[str, str]] | None = None,
) -> dict[str, list[str]]:
    """Return coverage axes aimed at the failures the rows show."""
    return await in_thread(
        core.dimensions_from_traces,
        rows,
        tools,
        policy,
        broaden=broaden,
        fault_to_axis=fault_to_axis,
    )


@task(cache_policy=NO_CACHE)
async def flaw_rows(rows: Rows) -> list[Row]:
    """Return the rows with an observed fault or a 0 label."""
    return await in_thread(core.flaw_rows, rows)


@task(cache_policy=NO_CACHE)
async def split_pseudo_production(
    rows: Rows, fraction: float = 0.2, seed: int = 0
) -> tuple[list[Row], list[Row]]:
    """Split off a held-out slice by task; every distinct flaw is held out at least once."""
    return await in_thread(core.split_pseudo_production, rows, fraction=fraction, seed=seed)


@task(cache_policy=NO_CACHE)
async def leakage_report(
    generated: Any,
    sources: Any,
    threshold: float = 0.9,
    embedder: Any = "hash",
    examples: int = 20,
) -> dict[str, Any]:
    """Report near copies of `sources` among `generated`."""
    return await in_thread(
        core.leakage_report,
        generated,
        sources,
        threshold=threshold,
        embedder=embedder,
        examples=examples,
    )


@task(cache_policy=NO_CACHE)
async def drop_leaky_rows(
    rows: Rows,
    sources: Any,
    threshold: float = 0.9,
    embedder: Any = "hash",
    examples: int = 20,
) -> tuple[list[Row], dict[str, Any]]:
    """Return the rows that are no near copies of `sources`, and the leakage report."""
    return await in_thread(
        core.drop_leaky_rows,
        rows,
        sources,
        threshold=threshold,
        embedder=embedder,
        examples=examples,
    )
