"""Download a dataset: all parts, in order, whole or not at all."""

from __future__ import annotations

import logging
import tempfile
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from anyio import to_thread

from whileai_core import jsonio
from whileai_core.atomic import atomic_file, sweep_beside
from whileai_core.errors import BadReply, InputError, NotAuthenticated, NotFound
from whileai_core.platform._connect import connect
from whileai_core.platform._parts import write_parts
from whileai_core.platform._wire import Grant

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from whileai_core.platform.credentials import ApiKey
    from whileai_core.platform.transport import Transport
    from whileai_core.rows import Row

_IN_MEMORY = 16 << 20
_ROWS_AT_ONCE = 500

log = logging.getLogger(__name__)


async def pull(
    dataset_id: str,
    path: str | os.PathLike[str] | None = None,
    *,
    api_key: ApiKey = None,
    allow_public: bool = False,
) -> Any:
    """Download every part of a dataset: to a file, or as rows.

    With a credential the own dataset is read, and its public copy if there is no own one;
    without, the public copy.

    Args:
        dataset_id: The dataset.
        path: File to write. It appears when everything is there; until then an older file
            stays as it is.
        api_key: Credential; default from the settings.
        allow_public: Read the public copy also when the platform refuses the credential.

    Returns:
        `path` as given, or the list of rows.

    Raises:
        NotFound: There is neither an own nor a public dataset of this id.
        PlatformError: A part could not be had in full; no file is written.
        BadReply: A line is not JSON (only when rows are returned).
    """
    if path is None:
        async with _downloaded(dataset_id, api_key, allow_public) as file:
            return await to_thread.run_sync(lambda: list(_read_rows(file, dataset_id)))
    target = _checked_target(path)
    async with connect(api_key, key="optional") as platform:
        fetch = await _source(platform, dataset_id, allow_public)
        await to_thread.run_sync(sweep_beside, target.resolve())
        with atomic_file(target) as file:
            await write_parts(platform, fetch, file)
    return path


async def iter_rows(
    dataset_id: str, *, api_key: ApiKey = None, allow_public: bool = False
) -> AsyncIterator[Row]:
    """Yield the rows of a dataset of any size with little memory.

    The parts go to a temporary file first, so no connection is held open while rows are used.
    Arguments and errors are those of `pull`.
    """
    async with _downloaded(dataset_id, api_key, allow_public) as file:
        rows = _read_rows(file, dataset_id)
        while batch := await to_thread.run_sync(_take, rows):
            for row in batch:
                yield row


def _checked_target(path: str | os.PathLike[str]) -> Path:
    target = Path(path)
    if target.is_dir():
        raise InputError(f"pull: {target} is a folder; name a file in it")
    return target


def _take(rows: Iterator[Row]) -> list[Row]:
    return [row for _, row in zip(range(_ROWS_AT_ONCE), rows, strict=False)]


@asynccontextmanager
async def _downloaded(
    dataset_id: str, api_key: ApiKey, allow_public: bool
) -> AsyncIterator[IO[bytes]]:
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
        async with connect(api_key, key="optional") as platform:
            fetch = await _source(platform, dataset_id, allow_public)
            await write_parts(platform, fetch, file)
        file.seek(0)
        yield file


def _read_rows(file: IO[bytes], dataset_id: str) -> Iterator[Row]:
    for number, line in enumerate(file, start=1):  # a binary file ends lines at LF only
        if not line.strip():
            continue
        try:
            row = jsonio.loads(line)
        except ValueError as error:
            raise BadReply(
                f"line {number} of dataset {dataset_id} is not JSON ({error}); pull it to a file "
                "to look at it",
                dataset_id=dataset_id,
            ) from None
        yield row


async def _source(
    platform: Transport, dataset_id: str, allow_public: bool
) -> Callable[[], Awaitable[Grant]]:
    """Decide between the own dataset and the public copy; return what asks for grants of it."""

    async def own() -> Grant:
        reply = await platform.get("datasets", dataset_id, "download")
        if not reply.get("parts") and not reply.get("downloadUrl"):
            row = await platform.get("datasets", dataset_id)
            if row.get("status") == "ready" and row.get("sizeBytes") == 0:
                return Grant.of_nothing()
        return Grant.from_reply(reply, dataset_id=dataset_id)

    async def public() -> Grant:
        reply = await platform.get("catalog", dataset_id, "download", public=True)
        return Grant.from_reply(reply, dataset_id=dataset_id)

    if not platform.has_credential:
        return _starting_with(await public(), public)
    try:
        return _starting_with(await own(), own)
    except NotFound:
        log.info("no own dataset %s; looking in the public catalog", dataset_id)
        try:
            return _starting_with(await public(), public)
        except NotFound as error:
            raise NotFound(
                f"there is no dataset {dataset_id!r} of this account, nor a public one; "
                "datasets() lists yours",
                status=error.status,
                method=error.method,
                url=error.url,
                detail=error.detail,
                request_id=error.request_id,
            ) from None
    except NotAuthenticated:
        if not allow_public:
            raise
        log.warning("the credential was refused; reading the public copy of %s", dataset_id)
    return _starting_with(await public(), public)


def _starting_with(
    grant: Grant, ask: Callable[[], Awaitable[Grant]]
) -> Callable[[], Awaitable[Grant]]:
    """Return an asker that hands out a grant already at hand first."""
    at_hand = [grant]

    async def next_grant() -> Grant:
        return at_hand.pop() if at_hand else await ask()

    return next_grant
