"""The operations as Prefect tasks, under the same names, and the steps of a night.

Every task is `async def` and is awaited in a flow. Those over plain functions run them in a
worker thread. Hand over `RowSet` handles between tasks; plain lists of rows are for single
tasks at a prompt, since Prefect walks every argument.
"""

from __future__ import annotations

from tasks.platform import (
    datasets,
    delete_dataset,
    pull,
    push_file,
    push_rows,
    update_dataset,
)
from tasks.traces import (
    dimensions_from_traces,
    drop_leaky_rows,
    flaw_rows,
    format_trace_report,
    infer_harness,
    leakage_report,
    load_traces,
    mine_traces,
    opening_share,
    rows_from_otel,
    split_pseudo_production,
    tools_from_traces,
    trace_report,
)

__all__ = [
    "datasets",
    "delete_dataset",
    "dimensions_from_traces",
    "drop_leaky_rows",
    "flaw_rows",
    "format_trace_report",
    "infer_harness",
    "leakage_report",
    "load_traces",
    "mine_traces",
    "opening_share",
    "pull",
    "push_file",
    "push_rows",
    "rows_from_otel",
    "split_pseudo_production",
    "tools_from_traces",
    "trace_report",
    "update_dataset",
]
