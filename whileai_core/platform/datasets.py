"""Datasets on the platform: list, look, change, publish, delete."""

from __future__ import annotations

from typing import Any

from whileai_core.errors import InputError
from whileai_core.platform._connect import connect
from whileai_core.platform._fields import MODES, PURPOSES, checked_choice, given
from whileai_core.platform._wire import list_field, object_field


async def datasets(*, api_key: str | None = None) -> dict[str, Any]:
    """Return the own datasets, newest first, and the storage they use.

    Raises:
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        reply = await platform.get("datasets")
    list_field(reply, "datasets", call="GET /datasets")
    return reply


async def preview(dataset_id: str, *, api_key: str | None = None) -> dict[str, Any]:
    """Return three sample rows of a dataset and the analyzer's report.

    Raises:
        PlatformError: The platform could not be asked or knows no such dataset.
    """
    async with connect(api_key) as platform:
        return await platform.get("datasets", dataset_id, "preview")


async def profile(
    dataset_id: str, *, force: bool = False, api_key: str | None = None
) -> dict[str, Any]:
    """Return the trainer's numbers of a dataset: pass rates, gradient support, tasks, tokens.

    Args:
        dataset_id: The dataset.
        force: Compute them again instead of taking the cached ones.
        api_key: Credential; default from the settings.

    Raises:
        PlatformError: The platform could not be asked or knows no such dataset.
    """
    query = {"force": "1"} if force else None
    async with connect(api_key) as platform:
        reply = await platform.get("datasets", dataset_id, "profile", query=query)
    return object_field(reply, "profile", call="GET /datasets/{id}/profile")


async def update_dataset(
    dataset_id: str,
    *,
    purpose: str | None = None,
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    api_key: str | None = None,
) -> dict[str, Any]:
    """Change what is passed and leave the rest; an empty string clears.

    Raises:
        InputError: Nothing was passed, or a purpose or mode that does not exist.
        PlatformError: The platform could not be asked or knows no such dataset.
    """
    checked_choice("purpose", purpose, PURPOSES)
    checked_choice("mode", mode, MODES)
    body = given(purpose=purpose, mode=mode, agent=agent, description=description)
    if not body:
        raise InputError("update_dataset: pass purpose, mode, agent or description to change")
    async with connect(api_key) as platform:
        return await platform.post("datasets", dataset_id, "meta", body=body, replayable=True)


async def delete_dataset(dataset_id: str, *, api_key: str | None = None) -> dict[str, Any]:
    """Delete a dataset for good; it also leaves the public catalog.

    Raises:
        NotFound: There is no such dataset.
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        return await platform.delete("datasets", dataset_id)


async def publish(
    dataset_id: str, agent: str, description: str | None = None, *, api_key: str | None = None
) -> dict[str, Any]:
    """Put a dataset into the public catalog under an agent's name; return its card.

    Raises:
        InputError: The agent is blank.
        PlatformError: The platform could not be asked, or the set cannot be published yet.
    """
    if not agent or not agent.strip():
        raise InputError("publish: a public card needs the name of an agent")
    body = given(agent=agent, description=description or None)
    async with connect(api_key) as platform:
        return await platform.post("datasets", dataset_id, "publish", body=body, replayable=True)


async def unpublish(dataset_id: str, *, api_key: str | None = None) -> dict[str, Any]:
    """Take a dataset out of the public catalog; its data stays.

    Raises:
        PlatformError: The platform could not be asked or knows no such dataset.
    """
    async with connect(api_key) as platform:
        return await platform.post("datasets", dataset_id, "unpublish", replayable=True)


async def catalog() -> dict[str, Any]:
    """Return the public catalog: `datasets` (cards) and `agents`; no credential is sent.

    Raises:
        PlatformError: The platform could not be asked.
    """
    async with connect(needs_key=False) as platform:
        reply = await platform.get("catalog", public=True)
    list_field(reply, "datasets", call="GET /catalog")
    return reply
