"""How things look in a response."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.gate.http import Json
    from whileai_core.gate.tables import Agent, Dataset, Run, RunFile


def timestamp(milliseconds: int | None) -> str | None:
    """Return a time as ISO 8601 in UTC."""
    if milliseconds is None:
        return None
    moment = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def dataset_row(dataset: Dataset) -> Json:
    """Return a dataset as its owner sees it."""
    hub = {"hf": dataset.hf, "hfImport": dataset.hf_import}
    return {
        "datasetId": dataset.id,
        "name": dataset.name,
        "purpose": dataset.purpose,
        "mode": dataset.mode,
        "agent": dataset.agent,
        "description": dataset.description,
        "parentDatasetId": dataset.parent_id,
        "status": dataset.status,
        "rows": dataset.rows,
        "sizeBytes": dataset.size_bytes,
        "createdAt": timestamp(dataset.created_at),
        "public": dataset.published_at is not None,
    } | {name: state for name, state in hub.items() if state is not None}


def run_row(run: Run) -> Json:
    """Return a training run; what its trainer said of it has the trainer's own names."""
    hub = {} if run.hf is None else {"hf": run.hf}
    return (
        run.facts
        | {
            "runId": run.id,
            "name": run.name,
            "status": run.status,
            "createdAt": timestamp(run.created_at),
            "finishedAt": timestamp(run.finished_at),
        }
        | hub
    )


def adapter(files: Sequence[RunFile]) -> Json:
    """Return the files of a run's adapter; those without a hash have not come yet."""
    return {
        "files": [
            {"path": file.path, "sizeBytes": file.size_bytes, "sha256": file.sha256}
            for file in files
        ]
    }


def card(dataset: Dataset) -> Json:
    """Return a published dataset as everybody sees it: nothing of the account."""
    return {
        "datasetId": dataset.id,
        "name": dataset.name,
        "agent": dataset.agent,
        "purpose": dataset.purpose,
        "mode": dataset.mode,
        "rows": dataset.rows,
        "sizeBytes": dataset.size_bytes,
        "description": dataset.description,
        "publishedAt": timestamp(dataset.published_at),
    }


def agent_record(agent: Agent, *, traces: int, datasets: dict[str, int], public: int) -> Json:
    """Return an agent's record with what belongs to it, counted."""
    return {
        "agent": agent.slug,
        "name": agent.name,
        "description": agent.description,
        "tools": agent.tools,
        "system_prompt": agent.system_prompt,
        "traces": traces,
        "datasets": datasets,
        "public": public,
    }
