"""Agents on the platform: list, register, and remove with everything that is theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from whileai_core.errors import BadReply, InputError, PlatformError
from whileai_core.platform._connect import connect
from whileai_core.platform._fields import given
from whileai_core.platform._groups import task_group
from whileai_core.platform._wire import list_field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.platform.credentials import ApiKey
    from whileai_core.platform.transport import Transport

_PAGE_SIZE = 200
_MOST_PAGES = 50_000
_AT_ONCE = 8


async def agents(*, api_key: ApiKey = None) -> list[dict[str, Any]]:
    """Return the agents of the account with their counts.

    Raises:
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        reply = await platform.get("agents")
    return list_field(reply, "agents", call="GET /agents")


async def register_agent(
    name: str,
    *,
    description: str | None = None,
    tools: Sequence[Any] | None = None,
    system_prompt: str | None = None,
    api_key: ApiKey = None,
) -> dict[str, Any]:
    """Create an agent's record, or change what is passed of an existing one.

    Raises:
        InputError: The name is blank.
        PlatformError: The platform could not be asked.
    """
    if not isinstance(name, str) or not name.strip():
        raise InputError("register_agent: an agent needs a name")
    body = given(
        name=name,
        description=description,
        tools=None if tools is None else list(tools),
        system_prompt=system_prompt,
    )
    async with connect(api_key) as platform:
        return await platform.post("agents", body=body, replayable=True)


async def purge_agent(
    agent: str, *, dry_run: bool = False, api_key: ApiKey = None
) -> dict[str, Any]:
    """Delete an agent's traces, its datasets and, when all of them are gone, its record.

    What is gone already counts as done, so an interrupted purge is completed by the next one.

    Args:
        agent: The agent; outer spaces and case do not matter.
        dry_run: Only count what would be deleted.
        api_key: Credential; default from the settings.

    Returns:
        `agent`, `traces` and `datasets` (numbers), `deleted`; where something could not be
        deleted, `failures` lists it with the reason and `deleted` is false.

    Raises:
        InputError: The name is blank.
        PlatformError: What belongs to the agent could not be listed; nothing was deleted.
    """
    slug = str(agent).strip().lower()
    if not slug:
        raise InputError("purge_agent: name the agent to remove")
    async with connect(api_key) as platform:
        traces = await _trace_ids(platform, slug)
        sets = await _dataset_ids(platform, slug)
        result = {"agent": slug, "traces": len(traces), "datasets": len(sets), "deleted": False}
        if dry_run:
            return result
        failures = await _delete_all(platform, "traces", traces)
        failures += await _delete_all(platform, "datasets", sets)
        if not failures:
            failures += await _delete_all(platform, "agents", [slug])
    if failures:
        return result | {"failures": failures}
    return result | {"deleted": True}


async def _trace_ids(platform: Transport, slug: str) -> list[str]:
    """List all trace ids of an agent; the end is where a page brings nothing new."""
    known: dict[str, None] = {}
    for page in range(1, _MOST_PAGES + 1):
        query = {"agent": slug, "from": "all", "limit": str(_PAGE_SIZE), "page": str(page)}
        reply = await platform.get("traces", query=query)
        before = len(known)
        for trace in list_field(reply, "traces", call="GET /traces"):
            trace_id = trace.get("traceId") if isinstance(trace, dict) else None
            if trace_id:
                known[str(trace_id)] = None
        pages = reply.get("pages")
        if len(known) == before or page >= (pages if isinstance(pages, int) else 1):
            return list(known)
    raise BadReply(f"the traces of {slug} fill more than {_MOST_PAGES} pages; nothing was deleted")


async def _dataset_ids(platform: Transport, slug: str) -> list[str]:
    rows = list_field(await platform.get("datasets"), "datasets", call="GET /datasets")
    return [row["datasetId"] for row in rows if row.get("agent") == slug and row.get("datasetId")]


async def _delete_all(platform: Transport, kind: str, ids: list[str]) -> list[dict[str, str]]:
    """Delete side by side, go on past errors, and return what could not be deleted."""
    failures: list[dict[str, str]] = []
    limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def delete(one: str) -> None:
        async with limiter:
            try:
                await platform.delete(kind, one, missing_ok=True)
            except PlatformError as error:
                failures.append({"kind": kind, "id": one, "error": str(error)})

    async with task_group() as group:
        for one in ids:
            group.start_soon(delete, one)
    return failures
