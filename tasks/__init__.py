"""The operations as Prefect tasks, under the same names, and the steps of a night.

Every task is `async def` and is awaited in a flow. Those over plain functions run them in a
worker thread. Hand over `RowSet` handles between tasks; plain lists of rows are for single
tasks at a prompt, since Prefect walks every argument.
"""

from __future__ import annotations

from tasks.credentials import (
    WhileCredentials,
    issue_delegated_credential,
    refresh_delegated_credential,
)
from tasks.hub import (
    hf_publish,
    hf_publish_run,
    hf_status,
    import_hf,
)
from tasks.platform import (
    agents,
    catalog,
    datasets,
    delete_dataset,
    delete_empty_datasets,
    preview,
    profile,
    publish,
    pull,
    purge_agent,
    push_file,
    push_rows,
    register_agent,
    unpublish,
    update_dataset,
)
from tasks.simulation import evaluate, simulate, simulate_from_traces
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
    "WhileCredentials",
    "agents",
    "catalog",
    "datasets",
    "delete_dataset",
    "delete_empty_datasets",
    "dimensions_from_traces",
    "drop_leaky_rows",
    "evaluate",
    "flaw_rows",
    "format_trace_report",
    "hf_publish",
    "hf_publish_run",
    "hf_status",
    "import_hf",
    "infer_harness",
    "issue_delegated_credential",
    "leakage_report",
    "load_traces",
    "mine_traces",
    "opening_share",
    "preview",
    "profile",
    "publish",
    "pull",
    "purge_agent",
    "push_file",
    "push_rows",
    "refresh_delegated_credential",
    "register_agent",
    "rows_from_otel",
    "simulate",
    "simulate_from_traces",
    "split_pseudo_production",
    "tools_from_traces",
    "trace_report",
    "unpublish",
    "update_dataset",
]
