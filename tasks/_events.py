"""Events that arrive: the task that sends one ends when the Prefect server has it on record."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import anyio
import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.events import Event, Resource
from prefect.events.clients import get_events_client
from prefect.events.filters import EventFilter, EventIDFilter
from prefect.events.related import related_resources_from_run_context
from websockets.exceptions import WebSocketException

from whileai_core.errors import StoreError

_SENDS = 2
_PATIENCE = 10.0  # seconds; a server writes events down every five
_POLL = 0.2

_log = logging.getLogger("whileai_core.events")


async def emit(event: str, resource_id: str, name: str, payload: dict[str, Any]) -> None:
    """Send an event of the run under way until the server has it on record.

    Prefect's own `emit_event` only queues it, and a server keeps what it has just heard in
    memory: when either dies, what the event would have triggered never happens. An event that
    the server took but does not show is logged and left at that.

    Raises:
        StoreError: The server cannot be reached.
    """
    resource = Resource({"prefect.resource.id": resource_id, "prefect.resource.name": name})
    message = Event(event=event, resource=resource, payload=payload)
    try:
        async with get_client() as api:
            message.related += await related_resources_from_run_context(api, {resource.id})
            for _ in range(_SENDS):
                async with get_events_client(checkpoint_every=1) as events:
                    await events.emit(message)
                if await _is_on_record(api, message):
                    return
    except (OSError, WebSocketException, httpx.HTTPError) as error:
        raise StoreError(
            f"the Prefect server did not take the event {event}: {error}; run again when it is up"
        ) from error
    _log.warning("the Prefect server took the event %s of %s and does not show it", event, name)


async def _is_on_record(api: PrefectClient, message: Event) -> bool:
    """Wait for the event to turn up on the server."""
    only = EventFilter(id=EventIDFilter(id=[message.id]))
    with anyio.move_on_after(_PATIENCE), suppress(httpx.HTTPStatusError):
        while True:
            if (await api.read_events(filter=only, limit=1)).events:
                return True
            await anyio.sleep(_POLL)
    return False
