"""whileai pipelines, the core: the operations by name, without Prefect.

>>> from whileai_core import load_traces, trace_report
>>> trace_report([{"prompt": "hi", "final_text": "hello", "reward": 1}])["passes"]
1

Names are loaded on first use, so that importing this package stays cheap.
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING

from whileai_core.version import __version__ as __version__

# A library talks only to those who listen.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Public name -> module that defines it.
_HOMES = {
    "load_traces": "whileai_core.dialects.load",
    "rows_from_otel": "whileai_core.dialects.otel",
    "mine_traces": "whileai_core.traces.mining",
    "flaw_rows": "whileai_core.traces.mining",
    "trace_report": "whileai_core.traces.report",
    "format_trace_report": "whileai_core.traces.report",
    "opening_share": "whileai_core.traces.opening",
    "tools_from_traces": "whileai_core.traces.harness",
    "infer_harness": "whileai_core.traces.harness",
    "build_dimensions": "whileai_core.traces.dimensions",
    "dimensions_from_traces": "whileai_core.traces.dimensions",
    "split_pseudo_production": "whileai_core.traces.split",
    "leakage_report": "whileai_core.traces.leakage",
    "drop_leaky_rows": "whileai_core.traces.leakage",
    "agents": "whileai_core.platform",
    "catalog": "whileai_core.platform",
    "datasets": "whileai_core.platform",
    "delete_dataset": "whileai_core.platform",
    "delete_empty_datasets": "whileai_core.platform",
    "hf_publish": "whileai_core.platform",
    "hf_publish_run": "whileai_core.platform",
    "hf_status": "whileai_core.platform",
    "import_hf": "whileai_core.platform",
    "issue_delegated_credential": "whileai_core.platform",
    "preview": "whileai_core.platform",
    "profile": "whileai_core.platform",
    "publish": "whileai_core.platform",
    "pull": "whileai_core.platform",
    "purge_agent": "whileai_core.platform",
    "push_file": "whileai_core.platform",
    "push_rows": "whileai_core.platform",
    "refresh_delegated_credential": "whileai_core.platform",
    "register_agent": "whileai_core.platform",
    "unpublish": "whileai_core.platform",
    "update_dataset": "whileai_core.platform",
    "evaluate": "whileai_core.simulation.evaluating",
    "outcome_judge": "whileai_core.simulation.outcome",
    "seeded_agent": "whileai_core.simulation.seeded",
    "ChatEndpoint": "whileai_core.simulation.endpoint",
    "ScoredData": "whileai_core.simulation.scored",
    "Spend": "whileai_core.simulation.spend",
    "simulate": "whileai_core.simulation.simulating",
    "simulate_from_traces": "whileai_core.simulation.from_traces",
    "SimulationData": "whileai_core.simulation.data",
    "Row": "whileai_core.rows",
    "RowSet": "whileai_core.rowset",
    "RowSetStore": "whileai_core.rowset",
}

__all__ = sorted(_HOMES)  # pyright: ignore[reportUnsupportedDunderAll]

if TYPE_CHECKING:
    from whileai_core.dialects.load import load_traces as load_traces
    from whileai_core.dialects.otel import rows_from_otel as rows_from_otel
    from whileai_core.platform import agents as agents
    from whileai_core.platform import catalog as catalog
    from whileai_core.platform import datasets as datasets
    from whileai_core.platform import delete_dataset as delete_dataset
    from whileai_core.platform import delete_empty_datasets as delete_empty_datasets
    from whileai_core.platform import hf_publish as hf_publish
    from whileai_core.platform import hf_publish_run as hf_publish_run
    from whileai_core.platform import hf_status as hf_status
    from whileai_core.platform import import_hf as import_hf
    from whileai_core.platform import issue_delegated_credential as issue_delegated_credential
    from whileai_core.platform import preview as preview
    from whileai_core.platform import profile as profile
    from whileai_core.platform import publish as publish
    from whileai_core.platform import pull as pull
    from whileai_core.platform import purge_agent as purge_agent
    from whileai_core.platform import push_file as push_file
    from whileai_core.platform import push_rows as push_rows
    from whileai_core.platform import refresh_delegated_credential as refresh_delegated_credential
    from whileai_core.platform import register_agent as register_agent
    from whileai_core.platform import unpublish as unpublish
    from whileai_core.platform import update_dataset as update_dataset
    from whileai_core.rows import Row as Row
    from whileai_core.rowset import RowSet as RowSet
    from whileai_core.rowset import RowSetStore as RowSetStore
    from whileai_core.simulation.data import SimulationData as SimulationData
    from whileai_core.simulation.endpoint import ChatEndpoint as ChatEndpoint
    from whileai_core.simulation.evaluating import evaluate as evaluate
    from whileai_core.simulation.from_traces import simulate_from_traces as simulate_from_traces
    from whileai_core.simulation.outcome import outcome_judge as outcome_judge
    from whileai_core.simulation.scored import ScoredData as ScoredData
    from whileai_core.simulation.seeded import seeded_agent as seeded_agent
    from whileai_core.simulation.simulating import simulate as simulate
    from whileai_core.simulation.spend import Spend as Spend
    from whileai_core.traces.dimensions import build_dimensions as build_dimensions
    from whileai_core.traces.dimensions import dimensions_from_traces as dimensions_from_traces
    from whileai_core.traces.harness import infer_harness as infer_harness
    from whileai_core.traces.harness import tools_from_traces as tools_from_traces
    from whileai_core.traces.leakage import drop_leaky_rows as drop_leaky_rows
    from whileai_core.traces.leakage import leakage_report as leakage_report
    from whileai_core.traces.mining import flaw_rows as flaw_rows
    from whileai_core.traces.mining import mine_traces as mine_traces
    from whileai_core.traces.opening import opening_share as opening_share
    from whileai_core.traces.report import format_trace_report as format_trace_report
    from whileai_core.traces.report import trace_report as trace_report
    from whileai_core.traces.split import split_pseudo_production as split_pseudo_production


if not TYPE_CHECKING:  # so that a type checker still finds misspelled names

    def __getattr__(name: str) -> object:
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
