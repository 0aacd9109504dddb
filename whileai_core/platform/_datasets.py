"""Datasets on the platform: list, look, change, publish, delete."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError
from whileai_core.platform._connect import connect
from whileai_core.platform._fields import MODES, PURPOSES, checked_choice, given
from whileai_core.platform._wire import list_field, object_field

if TYPE_CHECKING:
    from whileai_core.platform._wire import Reply
    from whileai_core.platform.credentials import ApiKey

_GRACE = timedelta(hours=1)


async def datasets(*, api_key: ApiKey = None) -> dict[str, Any]:
    """Return the own datasets, newest first, and the storage they use.

    Raises:
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        reply = await platform.get("datasets")
    list_field(reply, "datasets", call="GET /datasets")
    return reply


async def preview(dataset_id: str, *, api_key: ApiKey = None) -> dict[str, Any]:
    """Return three sample rows of a dataset and the analyzer's report.

    Raises:
        PlatformError: The platform could not be asked or knows no such dataset.
    """
    async with connect(api_key) as platform:
        return await platform.get("datasets", dataset_id, "preview")


async def profile(
    dataset_id: str, *, force: bool = False, api_key: ApiKey = None
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
    api_key: ApiKey = None,
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


async def delete_dataset(dataset_id: str, *, api_key: ApiKey = None) -> dict[str, Any]:
    """Delete a dataset for good; it also leaves the public catalog.

    Raises:
        NotFound: There is no such dataset.
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        return await platform.delete("datasets", dataset_id)


async def delete_empty_datasets(
    *, max_rows: int = 0, dry_run: bool = False, force: bool = False, api_key: ApiKey = None
) -> dict[str, Any]:
    """Delete the sets without bytes and, with `max_rows`, those with at most so many rows.

    A set that is still being uploaded or imported has no bytes yet: unless it is older than an
    hour, or `force` is given, it is left alone.

    Args:
        max_rows: Rows up to which a set counts as empty; 0 looks at bytes only.
        dry_run: Only say which sets would go.
        force: Take unfinished sets of any age as well.
        api_key: Credential; default from the settings.

    Returns:
        `datasets` (ids), `deleted` (whether they were), `skipped` (ids of unfinished sets).

    Raises:
        PlatformError: The first failure ends the work; sets gone already are no failure.
    """
    async with connect(api_key) as platform:
        reply = await platform.get("datasets")
        rows = list_field(reply, "datasets", call="GET /datasets")
        empty = [row for row in rows if row.get("datasetId") and _is_empty(row, max_rows)]
        spared = [row["datasetId"] for row in empty if not force and _is_in_progress(row)]
        victims = [row["datasetId"] for row in empty if row["datasetId"] not in spared]
        if not dry_run:
            for dataset_id in victims:
                await platform.delete("datasets", dataset_id, missing_ok=True)
    return {"datasets": victims, "deleted": not dry_run, "skipped": spared}


def _is_empty(row: Reply, max_rows: int) -> bool:
    rows = row.get("rows")
    return not row.get("sizeBytes") or (max_rows > 0 and rows is not None and rows <= max_rows)


def _is_in_progress(row: Reply) -> bool:
    if row.get("status") not in {"pending", "importing"}:
        return False
    try:
        created = datetime.fromisoformat(str(row.get("createdAt")))
    except ValueError:
        return True  # of unknown age: rather leave one too many
    if created.tzinfo is None:
        created = created.replace(tzinfo=UTC)
    return datetime.now(UTC) - created < _GRACE


async def publish(
    dataset_id: str, agent: str, description: str | None = None, *, api_key: ApiKey = None
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


async def unpublish(dataset_id: str, *, api_key: ApiKey = None) -> dict[str, Any]:
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
    async with connect(key="never") as platform:
        reply = await platform.get("catalog", public=True)
    list_field(reply, "datasets", call="GET /catalog")
    return reply
