"""A split of a dataset on the Hub as rows: read as it comes, through the dialects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from whileai_core import jsonio
from whileai_core.dialects.reading import RowItem, SpanItem, read_items
from whileai_core.dialects.spans import Collector
from whileai_core.errors import InputError, NotFound
from whileai_core.hub.layout import format_of, has_data, split_files
from whileai_core.hub.manifest import NAME as MANIFEST
from whileai_core.hub.manifest import Manifest
from whileai_core.hub.readback import texts_in
from whileai_core.hub.readme import NAME as README
from whileai_core.hub.readme import parts_of
from whileai_core.hub.remote import Watched, csv_records
from whileai_core.sources.items import Reject

if TYPE_CHECKING:
    from whileai_core.hub.client import Hub, Repo

# The Hub's own copy of datasets that are in another format, or made by a script.
_CONVERTED = "refs/convert/parquet"
_BROKEN = {"corrupt", "truncated", "unreadable", "unknown_format", "packed_too_deep"}


@dataclass(frozen=True)
class Wanted:
    """What to import: at most `max_rows` rows of a split."""

    repo: str
    split: str = "train"
    config: str | None = None
    revision: str | None = None
    max_rows: int = 100_000


@dataclass
class Imported:
    """What came of it.

    Attributes:
        revision: The commit that was read.
        rows: Rows written.
        rejected: Records that are no conversation.
        reason: Why the first of them is none.
    """

    revision: str
    rows: int = 0
    rejected: int = 0
    reason: str | None = None


def import_rows(hub: Hub, wanted: Wanted, write: Callable[[bytes], object]) -> Imported:
    """Read a split and write its rows as JSON lines; files are read as far as they are needed.

    Rows of a repository that was published here come back exactly as they were pushed. All
    others are read by the dialects, as files are.

    Args:
        hub: The Hub.
        wanted: What to read.
        write: Takes the lines.

    Raises:
        InputError: There is no such configuration or split, a file is damaged, or no record is
            a conversation.
        NotFound: There is no such repository or revision.
        PlatformError: The Hub refused or cannot be reached.
    """
    repo = hub.repo(wanted.repo, "dataset", wanted.revision)
    manifest = Manifest.read(hub.read(repo, MANIFEST))
    entry = manifest.splits.get(wanted.split) if wanted.config is None else None
    result = Imported(repo.head)
    if entry is not None:
        lines = _exact_lines(hub, repo, entry["files"])
    else:
        repo = _readable(hub, repo, wanted)
        lines = _lines(hub, repo, _files(hub, repo, wanted), result)
    for line in islice(lines, wanted.max_rows):
        write(line)
        result.rows += 1
    if not result.rows and result.rejected:
        raise InputError(
            f"no record of {wanted.repo}, split {wanted.split}, is a conversation: {result.reason}"
        )
    return result


def _files(hub: Hub, repo: Repo, wanted: Wanted) -> list[str]:
    try:
        metadata, _ = parts_of(hub.read(repo, README))
    except InputError:  # names will have to do
        metadata = {}
    return split_files(repo, metadata.get("configs"), wanted.config, wanted.split)


def _readable(hub: Hub, repo: Repo, wanted: Wanted) -> Repo:
    if has_data(repo) or wanted.revision is not None:
        return repo
    try:
        return hub.repo(repo.id, "dataset", _CONVERTED)
    except NotFound:
        return repo


def _exact_lines(hub: Hub, repo: Repo, paths: list[str]) -> Iterator[bytes]:
    for path in paths:
        with Watched(hub.open(repo, path), f"reading {path} of {repo.id}") as file:
            for text in file.through(texts_in(cast("BinaryIO", file))):
                yield text.encode() + b"\n"


def _lines(hub: Hub, repo: Repo, paths: list[str], result: Imported) -> Iterator[bytes]:
    collector = Collector()
    spans = 0
    for path in paths:
        with Watched(hub.open(repo, path), f"reading {path} of {repo.id}") as file:
            source: Any = csv_records(file, path) if format_of(path) == "csv" else file
            for item in file.through(read_items(source)):
                if isinstance(item, RowItem):
                    yield jsonio.dumps_line(jsonio.strict(item.row))
                elif isinstance(item, SpanItem):
                    collector.add(item.span)
                    spans += 1
                elif isinstance(item, Reject):
                    _reject(item, path, repo, result)
    if spans:
        for row in collector.rows():
            yield jsonio.dumps_line(jsonio.strict(row))


def _reject(item: Reject, path: str, repo: Repo, result: Imported) -> None:
    if item.reason in _BROKEN:
        raise InputError(f"{path} of {repo.id} cannot be read: {item.detail}")
    result.rejected += 1
    result.reason = result.reason or f"{item.reason} ({item.detail})"
