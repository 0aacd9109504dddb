"""Jobs that go to the Hub and back: publish a dataset or a run, import a dataset.

What may pass is left to the job's next attempt; what does not is written where the owner sees it.
A publication that was cut off anywhere is begun again: it finds its own commit.
"""

from __future__ import annotations

import codecs
import contextlib
import functools
import hashlib
import logging
import shutil
import tempfile
import threading
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
import anyio.to_thread
from sqlalchemy import select

from whileai_core.errors import InputError, NotFound, PlatformError, SettingsError, WhileError
from whileai_core.gate import jobs
from whileai_core.gate.blobs import new_key
from whileai_core.gate.garbage import collect, note_linked, note_writing
from whileai_core.gate.store import FAILED, IMPORTING, READY
from whileai_core.gate.tables import Dataset, Part, Run, RunFile
from whileai_core.hub.account import NOT_CONNECTED, find_account
from whileai_core.hub.adapter import Adapter, publish_run
from whileai_core.hub.client import Hub
from whileai_core.hub.importing import Imported, Wanted, import_rows
from whileai_core.hub.publish import Publication, Published, publish
from whileai_core.hub.targets import full_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.ext.asyncio import AsyncSession

    from whileai_core.gate.blobs import BlobStore
    from whileai_core.gate.http import Json
    from whileai_core.gate.jobs import Claim
    from whileai_core.gate.state import Gate

T = TypeVar("T")

PUBLISH, PUBLISH_RUN, IMPORT = "hf-publish", "hf-publish-run", "hf-import"
PUSHING, DONE, ERROR = "pushing", "done", "error"
MOST_ATTEMPTS = 4
AT_ONCE = 3
_TOO_LATE = "it took so long that its data was given up; import it again"
_INTERNAL = "the gate failed on this; its log has the reason"

_log = logging.getLogger(__name__)
# Publications to one repository follow each other instead of meeting in it.
_turns: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


async def publish_dataset(gate: Gate, claim: Claim) -> None:
    """Publish a dataset as the job says, and note how it went."""
    asked = claim.payload
    async with gate.database.read() as session:
        dataset = await _find(session, Dataset, asked)
        parts = [] if dataset is None else await _keys(session, dataset)
    if dataset is None:
        await _end(gate, claim)
        return
    publication = Publication(
        dataset_id=dataset.id,
        name=dataset.name,
        split=split_of(dataset),
        texts=functools.partial(_texts, gate.blobs, parts),
        agent=dataset.agent,
        mode=dataset.mode,
        description=dataset.description,
        parent=dataset.parent_id,
    )

    def work() -> Published:
        hub = _hub()
        repo_id = full_name(hub.me(), asked["namespace"], asked["repo"])
        with _turns[f"dataset {repo_id}"]:
            return publish(hub, publication, repo_id, private=asked["private"])

    made, error = await _attempt(gate, claim, work)
    if made is not None:
        outcome: Json = {
            "status": DONE,
            "repo": made.repo,
            "url": made.url,
            "commit": made.commit,
            "tag": made.tag,
            "split": made.split,
            "private": made.private,
        }
    else:
        outcome = {"status": ERROR, "error": error}
    async with gate.database.write() as session:
        dataset = await _find(session, Dataset, asked, lock=True)
        if dataset is not None:
            dataset.hf = (dataset.hf or {}) | outcome
        await claim.finish(session)


async def publish_adapter(gate: Gate, claim: Claim) -> None:
    """Publish the adapter of a run as the job says, and note how it went."""
    asked = claim.payload
    async with gate.database.read() as session:
        run = await _find(session, Run, asked)
        files = [] if run is None else await adapter_files(session, run)
        data = [] if run is None else await _dataset_repos(session, run)
    if run is None:
        await _end(gate, claim)
        return

    def work() -> Json:
        hub = _hub()
        repo_id = full_name(hub.me(), asked["namespace"], asked["repo"])
        with tempfile.TemporaryDirectory(prefix="whileai-adapter-") as folder:
            local = {file.path: _copied(gate.blobs, file, Path(folder)) for file in files}
            trained_on = _shown(hub, data, private=asked["private"])
            adapter = Adapter(run.id, run.name, local, run.facts, trained_on)
            with _turns[f"model {repo_id}"]:
                made = publish_run(hub, adapter, repo_id, private=asked["private"])
        return {
            "repo": made.repo,
            "url": made.url,
            "commit": made.commit,
            "tag": made.tag,
            "private": made.private,
        }

    made, error = await _attempt(gate, claim, work)
    outcome = {"status": ERROR, "error": error} if made is None else {"status": DONE} | made
    async with gate.database.write() as session:
        run = await _find(session, Run, asked, lock=True)
        if run is not None:
            run.hf = (run.hf or {}) | outcome
        await claim.finish(session)


async def import_dataset(gate: Gate, claim: Claim) -> None:
    """Fill a dataset from the Hub as the job says, or note why that cannot be."""
    asked = claim.payload
    wanted = Wanted(**asked["wanted"])
    key = new_key()
    async with gate.database.write() as session:
        dataset = await _find(session, Dataset, asked)
        if dataset is not None and dataset.status == IMPORTING:
            await note_writing(session, key)
        else:
            await claim.finish(session)
            return
    stop = threading.Event()

    def work() -> _Filled:
        filled = _Filled(gate.blobs, key, gate.settings.max_upload_bytes, stop)
        try:
            filled.imported = import_rows(_hub(), wanted, filled.take)
            filled.writer.commit()
        except BaseException:
            filled.writer.abort()
            raise
        return filled

    try:
        filled, error = await _attempt(gate, claim, work)
        async with gate.database.write() as session:
            dataset = await _find(session, Dataset, asked, lock=True)
            linked = False
            if dataset is not None and filled is not None:
                linked = await _link(session, dataset, key, filled)
                error = None if linked else _TOO_LATE
            if dataset is not None and not linked:
                dataset.status = FAILED
                dataset.hf_import = (dataset.hf_import or {}) | {"error": error}
            await claim.finish(session)
    except BaseException:
        stop.set()  # a thread cannot be cancelled, but this one looks
        raise
    if not linked:
        await collect(gate.database, gate.blobs, [key])


def split_of(dataset: Dataset) -> str:
    """Return the split a dataset is published as: its purpose."""
    return dataset.purpose or "train"


async def adapter_files(session: AsyncSession, run: Run) -> Sequence[RunFile]:
    """Return the files of a run's adapter, in the order of their paths."""
    query = select(RunFile).where(RunFile.run_number == run.number).order_by(RunFile.path)
    return (await session.scalars(query)).all()


async def _find(session: AsyncSession, table: type[T], asked: Json, *, lock: bool = False) -> Any:
    which: Any = table
    query = select(which).where(which.id == asked["id"], which.account_id == asked["account"])
    return await session.scalar(query.with_for_update() if lock else query)


async def _keys(session: AsyncSession, dataset: Dataset) -> list[str]:
    query = select(Part.blob_key).where(Part.dataset_number == dataset.number)
    return list((await session.scalars(query.order_by(Part.number))).all())


async def _dataset_repos(session: AsyncSession, run: Run) -> list[str]:
    """Return where the data of a run is published: last, and last in public."""
    named = run.facts.get("dataset_id")
    query = select(Dataset).where(Dataset.id == named, Dataset.account_id == run.account_id)
    dataset = await session.scalar(query) if isinstance(named, str) else None
    hf = (dataset.hf or {}) if dataset is not None else {}
    last = hf.get("repo") if hf.get("status") == DONE else None
    return [repo for repo in (last, hf.get("publicRepo")) if repo is not None]


def _shown(hub: Hub, repos: list[str], *, private: bool) -> str | None:
    """Return the first repository a model's card may name: a public one names public data only."""
    for repo_id in repos:
        with contextlib.suppress(NotFound):  # it was deleted on the Hub
            if private or not hub.repo(repo_id, "dataset").private:
                return repo_id
    return None


async def _end(gate: Gate, claim: Claim) -> None:
    async with gate.database.write() as session:
        await claim.finish(session)


@contextlib.asynccontextmanager
async def at_work(gate: Gate) -> AsyncIterator[None]:
    """Work on these jobs as they become free; at the end they are left to the next gate."""
    async with contextlib.AsyncExitStack() as workers:
        for _ in range(AT_ONCE):
            await workers.enter_async_context(jobs.at_work(gate, HANDLERS))
        try:
            yield
        finally:
            gate.closing.set()


class _Closing(Exception):
    """The gate closes; whoever opens it next does the job."""


async def _attempt(gate: Gate, claim: Claim, work: Callable[[], T]) -> tuple[T | None, str | None]:
    """Do a job's work in a thread; return what came of it, or why nothing ever will.

    Raises:
        Exception: It failed in a way that may pass, and the job has attempts left.
    """
    last = claim.attempts >= MOST_ATTEMPTS
    try:
        return await _in_thread(gate, work), None
    except _Closing:
        raise
    except WhileError as error:
        passes = error.retryable if isinstance(error, PlatformError) else isinstance(error, OSError)
        if passes and not isinstance(error, InputError) and not last:
            raise
        return None, " ".join(str(error).split())
    except FileNotFoundError:
        return None, "the data was replaced or deleted meanwhile; start again"
    except Exception:
        if not last:
            raise
        _log.exception("job %d (%s) is given up", claim.number, claim.kind)
        return None, _INTERNAL


async def _in_thread(gate: Gate, work: Callable[[], T]) -> T:
    """Run something that blocks for long; the wait for it, not the thread, ends with the gate."""
    results: list[T] = []
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when, gate.closing, group.cancel_scope)
        try:
            results.append(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
        except Exception as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if not results:
        raise _Closing
    return results[0]


async def _cancel_when(event: anyio.Event, scope: anyio.CancelScope) -> None:
    await event.wait()
    scope.cancel()


def _hub() -> Hub:
    account = find_account()
    if account is None:
        raise SettingsError(NOT_CONNECTED)
    return Hub(account)


def _texts(blobs: BlobStore, keys: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a dataset's blobs, to the letter."""
    for key in keys:
        with blobs.open(key) as file:
            for line in file:
                text = line.strip().removeprefix(codecs.BOM_UTF8)
                if text:
                    yield text.decode()


def _copied(blobs: BlobStore, file: RunFile, folder: Path) -> Path:
    path = folder / str(file.number)
    with blobs.open(str(file.blob_key)) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target)
    return path


class _Filled:
    """A blob that takes rows, and what is known of it."""

    def __init__(self, blobs: BlobStore, key: str, limit: int, stop: threading.Event) -> None:
        self.writer = blobs.writer(key)
        self.size = 0
        self.sha256 = hashlib.sha256()
        self.imported: Imported | None = None
        self._limit = limit
        self._stop = stop

    def take(self, line: bytes) -> None:
        """Write one row.

        Raises:
            InputError: The dataset becomes larger than an upload may be.
        """
        self.size += len(line)
        if self.size > self._limit:
            raise InputError(f"more than {self._limit} bytes; lower max_rows")
        if self._stop.is_set():
            raise InterruptedError("nobody waits for this import any more")
        self.writer.write(line)
        self.sha256.update(line)


async def _link(session: AsyncSession, dataset: Dataset, key: str, filled: _Filled) -> bool:
    """Make the blob the dataset's data; say whether that was still possible."""
    if filled.imported is None or not await note_linked(session, key):
        return False
    found = filled.imported
    session.add(
        Part(
            dataset_number=dataset.number,
            number=1,
            blob_key=key,
            size_bytes=filled.size,
            sha256=filled.sha256.hexdigest(),
            rows=found.rows,
        )
    )
    dataset.status, dataset.rows, dataset.size_bytes = READY, found.rows, filled.size
    about: Json = {"commit": found.revision, "rejected": found.rejected}
    if found.reason is not None:
        about["reason"] = found.reason
    dataset.hf_import = (dataset.hf_import or {}) | about
    return True


HANDLERS = {PUBLISH: publish_dataset, PUBLISH_RUN: publish_adapter, IMPORT: import_dataset}
