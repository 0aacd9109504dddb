"""Publish a dataset on Hugging Face: start the job, wait for it, show where it is."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any

from prefect import flow
from prefect.runtime import flow_run
from pydantic import Field

from flows._hub import hub_token
from flows._runs import open_run
from flows._server import prefect_api
from tasks import hub_jobs as steps
from tasks.night import show
from whileai_core.errors import InputError

__all__ = ["hub_publish", "run"]

_log = logging.getLogger("whileai_core.hub")


def _name() -> str:
    given = flow_run.parameters
    return f"hub-publish-{given.get('dataset_id') or _announced(given.get('event')) or 'nothing'}"


@flow(name="hub-publish", flow_run_name=_name)
async def hub_publish(
    dataset_id: str | None = None,
    event: dict[str, Any] | None = None,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = True,
    timeout: Annotated[float, Field(gt=0)] = 600.0,
    token_block: str | None = None,
    credentials: str | None = None,
) -> dict[str, Any]:
    """Publish a dataset as a split of a repository on Hugging Face.

    Args:
        dataset_id: The dataset; its purpose becomes the split.
        event: Or the payload of the event that announced it.
        namespace: User or organisation; empty takes where its parent is, or the connected user.
        repo: Repository; empty takes where it or its parent is, or a name made of the dataset's.
        private: Whether the repository must be private.
        timeout: Seconds to wait; the job goes on after them.
        token_block: Secret block with a Hugging Face token, for the gate in the run's process.
        credentials: Block with credentials of the platform; empty uses the worker's own.

    Returns:
        `status`, `repo`, `url`, `commit`, `tag` and `split`.

    Raises:
        InputError: Neither a dataset nor an event names what to publish.
        JobFailed: It cannot be published; the message says why.
        StillRunning: It is not there after `timeout`; a run with the same parameters waits on.
    """
    wanted = dataset_id or _announced(event)
    if not wanted:
        raise InputError("name a dataset_id, or give the payload of whileai.dataset.pushed")
    await open_run(f"dataset:{wanted}")
    async with hub_token(token_block):
        begun = await steps.begin_publish(wanted, namespace, repo, private, credentials)
        _log.info("publishing %s to %s", wanted, begun.get("repo"))
        hf: dict[str, Any] = await steps.looking(steps.published, timeout)(wanted, credentials)
    _log.info("published %s as %s", wanted, hf.get("url"))
    await show("hub-publication", _page(wanted, hf), "Where the dataset is on Hugging Face")
    return hf


def _announced(event: dict[str, Any] | None) -> str | None:
    found = (event or {}).get("dataset_id")
    return found if isinstance(found, str) and found else None


def _page(dataset_id: str, hf: dict[str, Any]) -> str:
    lines = ["| | |", "|---|---|", f"| dataset | `{dataset_id}` |"]
    lines.append(f"| repository | [{hf.get('repo')}]({hf.get('url')}) |")
    lines += [f"| {key} | `{hf[key]}` |" for key in ("split", "commit", "tag") if hf.get(key)]
    return "\n".join(lines)


def run(**parameters: Any) -> dict[str, Any]:
    """Run the flow to its end from plain code and return its result."""
    with prefect_api():
        return asyncio.run(hub_publish(**parameters))
