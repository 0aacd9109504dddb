"""Events that arrive: sent by the task itself, which ends when the Prefect server has them."""

from __future__ import annotations

from typing import Any

import httpx
from prefect.client.orchestration import get_client
from prefect.events import Event, Resource
from prefect.events.clients import get_events_client
from prefect.events.related import related_resources_from_run_context
from websockets.exceptions import WebSocketException

from whileai_core.errors import StoreError


async def emit(event: str, resource_id: str, name: str, payload: dict[str, Any]) -> None:
    """Send an event of the run under way and wait until the server has taken it.

    Prefect's own `emit_event` only queues it: a server that is down at that moment never hears
    of it, and what the event would have triggered never happens.

    Raises:
        StoreError: The server cannot be reached.
    """
    resource = Resource({"prefect.resource.id": resource_id, "prefect.resource.name": name})
    try:
        async with get_client() as api, get_events_client(checkpoint_every=1) as events:
            related = await related_resources_from_run_context(api, exclude={resource.id})
            message = Event(event=event, resource=resource, payload=payload, related=related)
            await events.emit(message)
    except (OSError, WebSocketException, httpx.HTTPError) as error:
        raise StoreError(
            f"the Prefect server did not take the event {event}: {error}; run again when it is up"
        ) from error
