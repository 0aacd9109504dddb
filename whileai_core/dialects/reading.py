"""From a source to rows, spans, rejects and what is ignored: every record ends as one of these."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from whileai_core.dialects.jsonl import lines_items
from whileai_core.dialects.recognition import (
    Item,
    RowItem,
    SpanItem,
    group_items,
    record_items,
)
from whileai_core.sources.discovery import is_json_text
from whileai_core.sources.items import Origin, Record
from whileai_core.sources.limits import DEFAULT_LIMITS, Limits
from whileai_core.sources.opening import MEMORY, bytes_parts, file_parts, found_parts, path_parts
from whileai_core.sources.texts import Items, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.sources.opening import Part

__all__ = ["Item", "RowItem", "SpanItem", "file_items", "read_items"]


def read_items(source: object, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Item]:
    """Read a source of any kind and account for every record in it.

    A source is a path, folder, glob, fsspec URL or `-` (standard input); JSON as text, unless a
    file has that name, or bytes; an open file; one object; or an iterable of objects. Memory
    stays flat for JSON lines; other layouts are held one document or table batch at a time. What
    is given in memory is not changed.

    Args:
        source: What to read.
        limits: Bounds beyond which a piece of input becomes a reject.

    Raises:
        SourceNotFound: A path names nothing.
        UnreadableSource: A file cannot be opened.
        MissingExtra: A Parquet or Arrow file needs pyarrow.
        TypeError: The source is None or another thing that holds no records.
    """
    if isinstance(source, str) and is_json_text(source):
        return _items(bytes_parts(source.encode("utf-8", "surrogatepass"), limits))
    if isinstance(source, str | os.PathLike):
        return _items(path_parts(source, limits))
    if isinstance(source, bytes | bytearray | memoryview):
        return _items(bytes_parts(bytes(source), limits))
    if callable(getattr(source, "read", None)):
        return _items(file_parts(source, None, limits))
    if isinstance(source, Mapping):
        return record_items(Record(source, Origin(MEMORY)), owned=False)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"cannot read traces from {type(source).__name__}; "
            "pass a path, bytes, an open file or an iterable of objects"
        )
    return group_items(MEMORY, _memory_records(source), owned=False)


def file_items(name: str, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Item]:
    """Read one file that `find_sources` found, as `read_items` does, whatever its name looks like.

    Raises:
        SourceNotFound: It is not there any more.
        UnreadableSource: It cannot be opened.
        MissingExtra: A Parquet or Arrow file needs pyarrow.
    """
    return _items(found_parts(name, limits))


def _memory_records(values: Iterable[Any]) -> Iterator[Record]:
    for number, value in enumerate(values, 1):
        yield Record(value, Origin(MEMORY, f"item {number}"))


def _items(parts: Iterator[Part]) -> Iterator[Item]:
    for part in parts:
        if isinstance(part, Lines):
            yield from lines_items(part)
        elif isinstance(part, Items):
            yield from group_items(part.source, part.records, owned=True)
        elif isinstance(part, Record):
            yield from record_items(part, owned=True)
        else:
            yield part
