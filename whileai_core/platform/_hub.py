"""Hugging Face through the platform: publish a dataset or a run, import a dataset.

The jobs run on the platform. `hf_publish`, `hf_publish_run` and `import_hf` start one and, unless
told otherwise, wait for it. Who waits elsewhere (a scheduler, say) starts with `wait=False` and
looks with `hf_publish_result` or `import_hf_result`.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from whileai_core.errors import BadReply, InputError, JobFailed, Unavailable
from whileai_core.platform._connect import connect
from whileai_core.platform._failures import on_dataset
from whileai_core.platform._fields import MODES, PURPOSES, checked_choice, given
from whileai_core.platform._polling import wait_for
from whileai_core.platform._wire import list_field, object_field, text_field

if TYPE_CHECKING:
    from whileai_core.platform._wire import Reply
    from whileai_core.platform.credentials import ApiKey
    from whileai_core.platform.transport import Transport

_FAILED = frozenset({"error", "failed"})
_IMPORTING = frozenset({"importing", "pending", "queued", "running"})


async def hf_status(*, api_key: ApiKey = None) -> dict[str, Any]:
    """Return the linked Hugging Face account: `connected`, `username`, `namespaces`, `scopes`.

    Raises:
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        return await platform.get("hf", "me")


async def hf_publish(
    dataset_id: str,
    *,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = False,
    wait: bool = True,
    timeout: float = 600.0,
    poll: float = 2.5,
    api_key: ApiKey = None,
) -> dict[str, Any]:
    """Publish a dataset to a dataset repository on the Hub.

    Args:
        dataset_id: The dataset; its purpose becomes the split.
        namespace: User or organisation; default the linked user.
        repo: Repository name; default chosen by the platform.
        private: Whether the repository is private; it is public by default.
        wait: Wait until it is done; otherwise return at once.
        timeout: Seconds to wait at most.
        poll: Seconds between two looks at first.
        api_key: Credential; default from the settings.

    Returns:
        `status`, `repo`, `url`, `commit`, `tag` (`zp-<dataset id>`) and `split`.

    Raises:
        JobFailed: The platform could not publish; the message has its reason.
        StillRunning: Not done after `timeout`.
        PlatformError: The platform could not be asked or refused.
    """
    return await _publish(
        ("datasets", dataset_id),
        f"publishing dataset {dataset_id} to the Hub",
        body=_target(namespace, repo, private),
        wait=(timeout, poll) if wait else None,
        api_key=api_key,
    )


async def hf_publish_run(
    run_id: str,
    *,
    namespace: str | None = None,
    repo: str | None = None,
    private: bool = True,
    wait: bool = True,
    timeout: float = 900.0,
    poll: float = 3.0,
    api_key: ApiKey = None,
) -> dict[str, Any]:
    """Publish the LoRA adapter of a run to a model repository on the Hub; private by default.

    Arguments, result and errors are those of `hf_publish`; the tag is `zp-<run id>`.
    """
    return await _publish(
        ("runs", run_id),
        f"publishing run {run_id} to the Hub",
        body=_target(namespace, repo, private),
        wait=(timeout, poll) if wait else None,
        api_key=api_key,
    )


async def hf_publish_result(dataset_id: str, *, api_key: ApiKey = None) -> dict[str, Any] | None:
    """Look once at the publication of a dataset: its result, or None while it is running.

    Raises:
        JobFailed: The publication failed.
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        job = f"publishing dataset {dataset_id} to the Hub"
        return _published(await platform.get("datasets", dataset_id), job)


async def import_hf(
    repo: str,
    *,
    split: str = "train",
    revision: str | None = None,
    config: str | None = None,
    name: str | None = None,
    purpose: str = "train",
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    max_rows: int = 100_000,
    wait: bool = True,
    timeout: float = 900.0,
    poll: float = 3.0,
    api_key: ApiKey = None,
) -> dict[str, Any]:
    """Import one split of a dataset on the Hub as rows.

    Args:
        repo: `namespace/name` on the Hub.
        split: The split to take.
        revision: Branch, tag or commit; default the main branch.
        config: Configuration of the dataset, where it has several.
        name: Name of the new dataset; default chosen by the platform.
        purpose: `train`, `holdout` or `eval`.
        mode: `explore`, `sft`, `rl` or `adaptive`.
        agent: Agent the rows belong to.
        description: Free text.
        max_rows: Rows to take at most.
        wait: Wait until it is done; otherwise return at once.
        timeout: Seconds to wait at most.
        poll: Seconds between two looks at first.
        api_key: Credential; default from the settings.

    Returns:
        The dataset as the platform describes it.

    Raises:
        InputError: An argument cannot be used.
        JobFailed: The platform could not import; the message names the repository and split.
        StillRunning: Not done after `timeout`; the error carries `dataset_id`.
        PlatformError: The platform could not be asked or refused.
    """
    body = _import_body(
        repo,
        split=split,
        purpose=purpose,
        mode=mode,
        max_rows=max_rows,
        revision=revision or None,
        config=config or None,
        name=name or None,
        agent=agent or None,
        description=description or None,
    )
    async with connect(api_key) as platform:
        row = await _start(platform, ("datasets", "import-hf"), body)
        dataset_id = text_field(row, "datasetId", call="POST /datasets/import-hf")
        if not wait:
            return row
        job = f"importing {repo}, split {split},"

        async def look() -> Reply | None:
            return _imported(await platform.get("datasets", dataset_id), job)

        with on_dataset(dataset_id):
            done = _imported(row, job)
            if done is None:
                done = await wait_for(look, timeout=timeout, poll=poll, job=job)
    return done


async def start_import(
    repo: str,
    *,
    key: str,
    split: str = "train",
    revision: str | None = None,
    config: str | None = None,
    name: str | None = None,
    purpose: str = "train",
    mode: str | None = None,
    agent: str | None = None,
    description: str | None = None,
    max_rows: int = 100_000,
    api_key: ApiKey = None,
) -> dict[str, Any]:
    """Start an import for somebody who waits elsewhere, or join the one that is under way.

    An import that was started with the same key is joined whether it is done or not; another
    one while it runs, if it asks for the same.

    Arguments, result and errors are those of `import_hf`.
    """
    body = _import_body(
        repo,
        split=split,
        purpose=purpose,
        mode=mode,
        max_rows=max_rows,
        revision=revision,
        config=config,
        name=name,
        agent=agent,
        description=description,
    )
    async with connect(api_key) as platform:
        listing = await platform.get("datasets")
        for row in list_field(listing, "datasets", call="GET /datasets"):
            if _imports_the_same(row, body):
                return dict(row)
        return await _start(platform, ("datasets", "import-hf"), body, key)


async def import_hf_result(dataset_id: str, *, api_key: ApiKey = None) -> dict[str, Any] | None:
    """Look once at an import: the dataset when it is ready, or None while it is running.

    Raises:
        JobFailed: The import failed.
        PlatformError: The platform could not be asked.
    """
    async with connect(api_key) as platform:
        with on_dataset(dataset_id):
            row = await platform.get("datasets", dataset_id)
            return _imported(row, f"the import into {dataset_id}")


def _import_body(
    repo: str, *, purpose: str, mode: str | None, **asked: str | int | None
) -> dict[str, Any]:
    if not isinstance(repo, str) or not repo.strip():
        raise InputError("import_hf: name the repository, as namespace/name")
    checked_choice("purpose", purpose, PURPOSES)
    checked_choice("mode", mode, MODES)
    return {"repo": repo, "purpose": purpose} | given(mode=mode or None, **asked)


def _imports_the_same(row: Any, body: dict[str, Any]) -> bool:
    about = row.get("hfImport") if isinstance(row, dict) else None
    if not isinstance(about, dict) or row.get("status") != "importing":
        return False
    of_repo = all(
        about.get(key) == body.get(key) for key in ("repo", "split", "revision", "config")
    )
    named = body.get("name") in (None, row.get("name"))
    rows = about.get("maxRows") == body["max_rows"]
    return of_repo and named and rows and row.get("purpose") == body["purpose"]


def _target(namespace: str | None, repo: str | None, private: bool) -> dict[str, Any]:
    return {"private": bool(private)} | given(namespace=namespace or None, repo=repo or None)


async def _publish(
    thing: tuple[str, str],
    job: str,
    *,
    body: dict[str, Any],
    wait: tuple[float, float] | None,
    api_key: ApiKey,
) -> dict[str, Any]:
    async with connect(api_key) as platform:
        try:
            reply = await _start(platform, (*thing, "hf-publish"), body)
        except Unavailable:
            reply = await platform.get(*thing)  # it may have been taken, and only its answer lost
            if not _is_running(reply):
                raise
        if wait is None:
            return object_field(reply, "hf", call="POST …/hf-publish")

        async def look() -> Reply | None:
            return _published(await platform.get(*thing), job)

        timeout, poll = wait
        return await wait_for(look, timeout=timeout, poll=poll, job=job)


async def _start(
    platform: Transport, path: tuple[str, ...], body: dict[str, Any], key: str | None = None
) -> Reply:
    return await platform.post(
        *path, body=body, replayable=False, idempotency_key=key or str(uuid.uuid4())
    )


def _is_running(row: Reply) -> bool:
    hf = row.get("hf")
    return isinstance(hf, dict) and hf.get("status") == "pushing"


def _published(row: Reply, job: str) -> Reply | None:
    """Return what came of a job, None while it runs; any state but an end is on the way."""
    hf = row.get("hf")
    if hf is None:
        return None
    if not isinstance(hf, dict):
        raise BadReply(f"{job}: the platform reports the unknown state {hf!r}")
    status = hf.get("status")
    if status in _FAILED:
        raise JobFailed(f"{job} failed: {hf.get('error') or 'no reason given'}")
    return hf if status == "done" else None


def _imported(row: Reply, job: str) -> Reply | None:
    """Return the imported set, None while it is on the way; any other state is an end."""
    status = row.get("status")
    if status in _IMPORTING:
        return None
    if status in _FAILED:
        details = row.get("hfImport")
        reason = details.get("error") if isinstance(details, dict) else None
        raise JobFailed(f"{job} failed: {reason or 'no reason given'}")
    return row
