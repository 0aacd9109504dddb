"""Import a dataset from Hugging Face: start the job, wait for it, return the dataset."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, Literal, TypeAlias

from prefect import flow
from pydantic import Field

from flows._hub import hub_token
from flows._runs import open_run
from flows._server import prefect_api
from tasks import hub_jobs as steps

__all__ = ["hub_import", "run"]

Purpose: TypeAlias = Literal["train", "holdout", "eval"]
Mode: TypeAlias = Literal["explore", "sft", "rl", "adaptive"]

_log = logging.getLogger("whileai_core.hub")


@flow(name="hub-import", flow_run_name="hub-import-{repo}")
async def hub_import(
    repo: Annotated[str, Field(min_length=1)],
    split: str = "train",
    config: str | None = None,
    revision: str | None = None,
    max_rows: Annotated[int, Field(ge=1)] = 100_000,
    name: str | None = None,
    purpose: Purpose = "train",
    mode: Mode | None = None,
    agent: str | None = None,
    description: str | None = None,
    timeout: Annotated[float, Field(gt=0)] = 900.0,
    token_block: str | None = None,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Import a split of a dataset on Hugging Face as rows.

    Args:
        repo: The repository, namespace/name.
        split: The split to read.
        config: Configuration, where the repository has several.
        revision: Branch, tag or commit; empty reads the main branch.
        max_rows: Rows to take at most.
        name: Name of the new dataset; empty takes the repository's.
        purpose: What the dataset is for.
        mode: How it will be trained on.
        agent: Agent the rows belong to.
        description: A sentence about it.
        timeout: Seconds to wait; the job goes on after them.
        token_block: Secret block with a Hugging Face token, for the gate in the run's process.
        credentials: Block with credentials of the platform; empty uses the worker's own.

    Returns:
        The dataset as the platform describes it.

    Raises:
        JobFailed: It cannot be imported; the message says why.
        StillRunning: It is not complete after `timeout`; a run with the same parameters waits on.
    """
    await open_run(f"hub:{repo}")
    asked = {
        "split": split,
        "config": config,
        "revision": revision,
        "max_rows": max_rows,
        "name": name,
        "purpose": purpose,
        "mode": mode,
        "agent": agent,
        "description": description,
    }
    async with hub_token(token_block):
        dataset_id = await steps.begin_import(repo, asked, credentials)
        _log.info("importing %s, split %s, into %s", repo, split, dataset_id)
        row: dict[str, Any] = await steps.looking(steps.imported, timeout)(dataset_id, credentials)
    _log.info("imported %s rows", row.get("rows"))
    return row


def run(**parameters: Any) -> dict[str, Any]:
    """Run the flow to its end from plain code and return its result."""
    with prefect_api():
        return asyncio.run(hub_import(**parameters))
