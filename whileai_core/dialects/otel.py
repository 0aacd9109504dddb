"""The public operation: spans from wherever they lie to rows."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.jsonl import line_records, unread_piece
from whileai_core.dialects.spans.assemble import Collector
from whileai_core.dialects.spans.payloads import spans_in
from whileai_core.dialects.spans.reader import REWARD_KEYS
from whileai_core.dialects.spans.span import Span
from whileai_core.sources.collector import collector_paused
from whileai_core.sources.discovery import is_json_text
from whileai_core.sources.items import Ignored, Origin, Record, Reject
from whileai_core.sources.lines import LineBlock
from whileai_core.sources.opening import MEMORY, bytes_parts, file_parts, path_parts
from whileai_core.sources.texts import Items, Lines

if TYPE_CHECKING:
    from whileai_core.rows import Row
    from whileai_core.sources.opening import Part


class SpansLeftOut(UserWarning):
    """Some pieces of a source could not be read as spans; the rest was."""


def rows_from_otel(source: object, *, reward_keys: Iterable[str] = REWARD_KEYS) -> list[Row]:
    """Read spans of any known producer as rows, one per conversation.

    Rows come in the order of their first spans. `steps` hold tool calls and later user turns in
    time order, no texts of the agent. Pieces that are no spans are left out, with one
    `SpansLeftOut` warning.

    >>> span = {
    ...     "traceId": "5b8efff798038103d269b633813fc60c",
    ...     "attributes": {"gen_ai.prompt": "Capital of Malta?", "gen_ai.completion": "Valletta"},
    ... }
    >>> rows_from_otel([span])[0]["final_text"]
    'Valletta'

    Args:
        source: An OTLP batch or an iterable of batches or spans; a path, folder, glob or URL of
            files with them, JSON or protobuf, packed or not; JSON text; bytes; an open file;
            finished spans of the Python SDK.
        reward_keys: Attributes that may hold the reward, by precedence; the first value in
            [0, 1] of the conversation counts.

    Raises:
        SourceNotFound: A path names nothing (a `FileNotFoundError`).
        UnreadableSource: A file cannot be opened.
        TypeError: The source holds no spans, as a number.
    """
    collector = Collector(reward_keys)
    left_out: list[Reject] = []
    add = collector.add
    with collector_paused():
        for piece in _pieces(source, collector):
            if type(piece) is Span:
                add(piece)
            elif isinstance(piece, Reject):
                left_out.append(piece)
        rows = collector.rows()
    if left_out:
        _warn(left_out)
    return rows


def _warn(left_out: list[Reject]) -> None:
    first = left_out[0]
    place = f" {first.origin.position}" if first.origin.position else ""
    warnings.warn(
        f"{len(left_out)} piece(s) that are no spans left out; first {first.origin.source}{place}: "
        f"{first.reason} ({first.detail})",
        SpansLeftOut,
        stacklevel=3,
    )


def _pieces(source: Any, collector: Collector) -> Iterator[Span | Reject | Ignored]:
    """Yield what the collector has not taken already, straight from the batches."""
    for record in _records(source):
        if isinstance(record, Record):
            yield from spans_in(record.value, record.origin, collector.others_in)
        else:
            yield record


def _records(source: Any) -> Iterator[Record | Reject | Ignored]:
    if source is None:
        return
    if isinstance(source, str) and is_json_text(source):
        yield from _parsed(bytes_parts(source.encode("utf-8", "surrogatepass")))
    elif isinstance(source, str | os.PathLike):
        yield from _parsed(path_parts(source))
    elif isinstance(source, bytes | bytearray | memoryview):
        yield from _parsed(bytes_parts(bytes(source)))
    elif callable(getattr(source, "read", None)):
        yield from _parsed(file_parts(source, None))
    elif isinstance(source, Mapping):
        yield Record(dict(source), Origin(MEMORY))
    else:
        for number, item in enumerate(source, 1):
            yield from _item_records(item, Origin(MEMORY, f"item {number}"))


def _item_records(item: Any, origin: Origin) -> Iterator[Record | Reject | Ignored]:
    if isinstance(item, bytes | bytearray | memoryview):
        yield from _parsed(bytes_parts(bytes(item)))
        return
    text = item
    if callable(getattr(item, "to_json", None)):  # the Python SDK's own spans
        text = item.to_json()
    if isinstance(text, str) and text.lstrip()[:1] in ("{", "["):
        yield from _parsed(bytes_parts(text.encode("utf-8", "surrogatepass")))
    else:
        yield Record(item, origin)


def _parsed(parts: Iterator[Part]) -> Iterator[Record | Reject | Ignored]:
    for part in parts:
        if isinstance(part, Lines):
            yield from _lines(part)
        elif isinstance(part, Items):
            yield from part.records
        else:
            yield part


def _lines(lines: Lines) -> Iterator[Record | Reject]:
    for block in lines.blocks:
        if not isinstance(block, LineBlock):
            yield unread_piece(lines.source, block)
            continue
        parse = jsonio.loads_exact if block.exact else jsonio.loads_strict
        for number, line in enumerate(block.lines, block.first):
            try:
                yield Record(parse(line), Origin(lines.source, f"line {number}"))
            except ValueError:
                yield from line_records(lines.source, number, line)
