"""The public operation `load_traces`."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import TYPE_CHECKING

from whileai_core.dialects.reading import Item, RowItem, SpanItem, file_items, read_items
from whileai_core.sources.collector import collector_paused
from whileai_core.sources.discovery import find
from whileai_core.sources.items import Reject
from whileai_core.sources.opening import skipped_parts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.dialects.spans import Collector
    from whileai_core.rows import Row


class RecordsLeftOut(UserWarning):
    """Some records of a source could not be read; the rest was."""


def load_traces(source: object) -> list[Row]:
    """Read traces of any known kind as rows, in source order; rows from spans come last.

    Records that cannot be read are left out, with one `RecordsLeftOut` warning per source; to
    handle them one by one use `whileai_core.dialects.reading.read_items`.

    >>> load_traces([{"question": "Capital of Malta?", "answer": "Valletta"}])[0]["prompt"]
    'Capital of Malta?'

    Args:
        source: A path, folder, glob, fsspec URL or `-`; JSON as text (unless a file has that
            name) or bytes; an open file; one object; or an iterable of objects.

    Raises:
        SourceNotFound: A path names nothing (a `FileNotFoundError`).
        UnreadableSource: A file cannot be opened.
        MissingExtra: A Parquet or Arrow file needs pyarrow.
        TypeError: The source holds no records, as None.
    """
    return _rows_of(read_items(source))


def load_all(paths: Iterable[str]) -> list[Row]:
    """Read several paths as one source: spans of a conversation may lie in any of their files.

    Raises:
        SourceNotFound: A path names nothing.
    """
    found = [find(path) for path in paths]
    names = dict.fromkeys(name for one in found for name in one.files)
    skipped = dict.fromkeys(reject for one in found for reject in skipped_parts(one))
    return _rows_of(chain((item for name in names for item in file_items(name)), skipped))


def _rows_of(items: Iterable[Item]) -> list[Row]:
    rows: list[Row] = []
    collector: Collector | None = None
    rejects: dict[str, tuple[Reject, int]] = {}  # the first of each source, and how many
    with collector_paused():
        for item in items:
            if isinstance(item, RowItem):
                rows.append(item.row)
            elif isinstance(item, SpanItem):
                if collector is None:
                    from whileai_core.dialects.spans import Collector

                    collector = Collector()
                collector.add(item.span)
            elif isinstance(item, Reject):
                first, count = rejects.get(item.origin.source, (item, 0))
                rejects[item.origin.source] = (first, count + 1)
        if collector is not None:
            rows += collector.rows()
    for name, (first, count) in rejects.items():
        _warn(name, first, count)
    return rows


def _warn(source: str, first: Reject, count: int) -> None:
    place = f"{first.origin.position}: " if first.origin.position else ""
    warnings.warn(
        f"{source}: {count} record(s) left out; first {place}{first.reason} ({first.detail})",
        RecordsLeftOut,
        stacklevel=4,
    )
