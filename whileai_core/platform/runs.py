"""Training runs on the platform, and the adapters that come out of them.

These calls are no operations of their own: a trainer or the command line makes them, so that
`hf_publish_run` has something to publish.
"""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio import to_thread

from whileai_core.errors import BadReply, Conflict, InputError, SourceNotFound
from whileai_core.platform._connect import connect
from whileai_core.platform._fields import given
from whileai_core.platform._payload import file_payload
from whileai_core.platform._wire import list_field, text_field

if TYPE_CHECKING:
    from whileai_core.platform.credentials import CredentialSource
    from whileai_core.platform.transport import Transport

_BASE_SECONDS, _SECONDS_PER_MEGABYTE = 120.0, 4.0


async def create_run(
    name: str | None = None,
    *,
    base_model: str | None = None,
    dataset_id: str | None = None,
    trainer: str | None = None,
    total_steps: int | None = None,
    config: dict[str, Any] | None = None,
    api_key: str | CredentialSource | None = None,
) -> str:
    """Begin a run and return its id.

    Args:
        name: Name of the run; also of its repository, unless one is named.
        base_model: The model that is trained, as the Hub names it.
        dataset_id: The dataset it is trained on; the platform must have it.
        trainer: What trains it.
        total_steps: Steps it will take.
        config: Its configuration.
        api_key: Credential; default from the settings.

    Raises:
        NotFound: There is no such dataset.
        Conflict: It failed to come about, so there is nothing to train on.
        PlatformError: The platform could not be asked or refused.
    """
    body = given(
        name=name,
        base_model=base_model,
        dataset_id=dataset_id,
        trainer=trainer,
        total_steps=total_steps,
        config=config,
    )
    async with connect(api_key) as platform:
        if dataset_id is not None:
            _check_trainable(await platform.get("datasets", dataset_id))
        reply = await platform.post(
            "runs", body=body, replayable=False, idempotency_key=str(uuid.uuid4())
        )
    return text_field(reply, "runId", call="POST /runs")


def _check_trainable(dataset: dict[str, Any]) -> None:
    """Refuse what the platform would take: it takes any id for a run."""
    if dataset.get("status") == "failed":
        made = dataset.get("datasetId")
        raise Conflict(f"dataset {made} failed and holds no rows to train on; import or push again")


async def upload_adapter(
    run_id: str, folder: str | Path, *, api_key: str | CredentialSource | None = None
) -> tuple[list[str], list[str]]:
    """Upload the files of a folder as the adapter of a run.

    Hidden files are skipped. The others replace the adapter there was. Calling again after a
    failure goes through all files again.

    Args:
        run_id: The run.
        folder: The folder, or one file.
        api_key: Credential; default from the settings.

    Returns:
        The paths that were uploaded, and those that were skipped.

    Raises:
        SourceNotFound: There is no such folder, or it is empty.
        PlatformError: The platform could not be asked or refused.
    """
    files, skipped = await to_thread.run_sync(_files, Path(folder))
    async with connect(api_key) as platform:
        reply = await platform.post(
            "runs", run_id, "adapter", body={"files": sorted(files)}, replayable=True
        )
        for entry in list_field(reply, "files", call="POST /runs/…/adapter"):
            path = entry.get("path") if isinstance(entry, dict) else None
            if path not in files:
                raise BadReply("the platform asks for a file that was not announced")
            url = text_field(entry, "uploadUrl", call="POST /runs/…/adapter")
            await _upload(platform, url, files[path])
    return sorted(files), sorted(skipped)


async def finish_run(
    run_id: str,
    *,
    status: str | None = None,
    metrics: dict[str, Any] | None = None,
    api_key: str | CredentialSource | None = None,
) -> dict[str, Any]:
    """Say that a run is over, with its final numbers; repeatable."""
    async with connect(api_key) as platform:
        body = (metrics or {}) | given(status=status)
        return await platform.post("runs", run_id, "finish", body=body, replayable=True)


async def list_runs(*, api_key: str | CredentialSource | None = None) -> list[dict[str, Any]]:
    """Return own runs, newest first."""
    async with connect(api_key) as platform:
        return list_field(await platform.get("runs"), "runs", call="GET /runs")


def _files(folder: Path) -> tuple[dict[str, Path], list[str]]:
    if folder.is_file():
        return {folder.name: folder}, []
    if not folder.is_dir():
        raise SourceNotFound(f"there is no folder {folder}")
    files: dict[str, Path] = {}
    skipped = []
    for path in folder.rglob("*"):
        inside = path.relative_to(folder)
        if not path.is_file():
            continue
        if any(part.startswith(".") for part in inside.parts):
            skipped.append(inside.as_posix())
        else:
            files[inside.as_posix()] = path
    if not files:
        raise InputError(f"{folder} holds no files" + " but hidden ones" * bool(skipped))
    return files, skipped


async def _upload(platform: Transport, url: str, file: Path) -> None:
    with await to_thread.run_sync(file_payload, file) as payload:
        await platform.upload(
            url,
            payload.chunks,
            size=payload.size,
            seconds=_BASE_SECONDS + _SECONDS_PER_MEGABYTE * payload.size / 1_000_000,
            media="application/octet-stream",
        )
