"""From a source to rows, spans, rejects and what is ignored: every record ends as one of these.

Most of a night is rows in the schema and plain chat. These are recognised at once; only what is
neither is shown to the dialects, in this order: the file as one session, the record's own
dialect, spans, and last the many spellings of `normalise`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core import jsonio
from whileai_core.dialects.normalise import as_row, is_canonical, normalise
from whileai_core.dialects.shapes import holds_messages
from whileai_core.rows import Row
from whileai_core.sources.compression import BrokenStream
from whileai_core.sources.items import Ignored, Origin, Record, Reject
from whileai_core.sources.limits import DEFAULT_LIMITS, RAW_CHARACTERS, Limits, raw_text
from whileai_core.sources.lines import LineBlock, LongLine
from whileai_core.sources.opening import MEMORY, bytes_parts, file_parts, path_parts
from whileai_core.sources.texts import Items, Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.dialects.registry import SessionDialect
    from whileai_core.dialects.spans import Span
    from whileai_core.sources.opening import Part

_HEAD = 8  # records of a file that are shown to the session dialects
_DEEPEST_LIST = 4
# Records with `messages` and nothing but these keys need no dialect of their own.
_CHAT_KEYS = frozenset(
    {
        "messages",
        "id",
        "tools",
        "functions",
        "parallel_tool_calls",
        "model",
        "reward",
        "prompt",
        "steps",
        "final_text",
        "conversation_id",
        "ts",
    }
)


class RowItem(NamedTuple):
    """A row, the dialect it was read by, and where its record stood."""

    row: Row
    dialect: str
    origin: Origin


class SpanItem(NamedTuple):
    """A span of a conversation that is put together later."""

    span: Span
    origin: Origin


Item: TypeAlias = RowItem | SpanItem | Reject | Ignored


def read_items(source: object, *, limits: Limits = DEFAULT_LIMITS) -> Iterator[Item]:
    """Read a source of any kind and account for every record in it.

    A source is a path, folder, glob, fsspec URL or `-` (standard input); JSON as text or bytes;
    an open file; one object; or an iterable of objects. Memory stays flat for JSON lines; other
    layouts are held one document or table batch at a time. What is given in memory is not
    changed.

    Args:
        source: What to read.
        limits: Bounds beyond which a piece of input becomes a reject.

    Raises:
        SourceNotFound: A path names nothing.
        UnreadableSource: A file cannot be opened.
        MissingExtra: A Parquet or Arrow file needs pyarrow.
        TypeError: The source is None or another thing that holds no records.
    """
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        return _items(bytes_parts(source.encode("utf-8", "surrogatepass"), limits))
    if isinstance(source, str | os.PathLike):
        return _items(path_parts(source, limits))
    if isinstance(source, bytes | bytearray | memoryview):
        return _items(bytes_parts(bytes(source), limits))
    if callable(getattr(source, "read", None)):
        return _items(file_parts(source, None, limits))
    if isinstance(source, Mapping):
        return _record_items(Record(source, Origin(MEMORY)), owned=False, strict=False)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"cannot read traces from {type(source).__name__}; "
            "pass a path, bytes, an open file or an iterable of objects"
        )
    return _group_items(MEMORY, _memory_records(source), owned=False)


def _memory_records(values: Iterable[Any]) -> Iterator[Record]:
    for number, value in enumerate(values, 1):
        yield Record(value, Origin(MEMORY, f"item {number}"))


def _items(parts: Iterator[Part]) -> Iterator[Item]:
    for part in parts:
        if isinstance(part, Lines):
            yield from _lines_items(part)
        elif isinstance(part, Items):
            yield from _group_items(part.source, part.records, owned=True)
        elif isinstance(part, Record):
            yield from _record_items(part, owned=True, strict=False)
        else:
            yield part


# Lines: the path that has to be quick.


def _lines_items(lines: Lines) -> Iterator[Item]:
    source = lines.source
    first = next(lines.blocks, None)
    if first is None:
        return
    blocks = chain((first,), lines.blocks)
    if isinstance(first, LineBlock):
        head = _parsed_head(first.lines)
        if head and not _is_plain(head[0]):
            session = _session_dialect(head)
            records = _line_records(source, blocks)
            if session is not None:
                yield from _session_items(source, records, session)
                return
            if holds_messages(head):
                yield from _conversation_items(source, records)
                return
    for block in blocks:
        if not isinstance(block, LineBlock):
            yield _unread_piece(source, block)
            continue
        parse = jsonio.loads_exact if block.exact else jsonio.loads_strict
        number = block.first - 1
        for line in block.lines:
            number += 1
            try:
                value = parse(line)
            except ValueError:
                yield from _odd_line_items(source, number, line)
                continue
            if type(value) is dict and _is_plain(value):
                row = normalise(value, owned=True, strict=True)
                if row is not None:
                    yield RowItem(row, "rows", Origin(source, f"line {number}"))
                    continue
            record = Record(value, Origin(source, f"line {number}"))
            yield from _record_items(record, owned=True, strict=True)


def _is_plain(value: object) -> bool:
    """Tell whether a record needs no dialect: a row in the schema or plain chat."""
    if type(value) is not dict:
        return False
    return is_canonical(value) or ("messages" in value and value.keys() <= _CHAT_KEYS)


def _odd_line_items(source: str, number: int, line: bytes) -> Iterator[Item]:
    for piece in _odd_line(source, number, line):
        if isinstance(piece, Record):
            yield from _record_items(piece, owned=True, strict=False)
        else:
            yield piece


def _odd_line(source: str, number: int, line: bytes) -> Iterator[Record | Reject]:
    """Yield what a line holds that is no strict JSON: nothing, several values, or a reject."""
    text = line.removeprefix(b"\xef\xbb\xbf").strip(b" \t\r\n\f\v\x1e,")
    if not text:
        return
    origin = Origin(source, f"line {number}")
    try:
        yield Record(jsonio.loads(text), origin)
        return
    except ValueError as error:
        problem = str(error)
    if problem == jsonio.TOO_DEEP:
        yield Reject("too_deep", "nested deeper than can be read", origin, raw_text(text))
        return
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        yield Reject("not_utf8", f"byte {error.start} is no UTF-8", origin, raw_text(text))
        return
    found = list(jsonio.scan(decoded))
    if len(found) > 1 and found[-1][2] == len(decoded):
        for value, _, _ in found:
            yield Record(value, origin)
    else:
        yield Reject("not_json", problem, origin, raw_text(text))


def _unread_piece(source: str, piece: LongLine | BrokenStream) -> Reject:
    if isinstance(piece, LongLine):
        origin = Origin(source, f"line {piece.number}")
        detail = "the line is longer than the limit"
        return Reject("too_large", detail, origin, raw_text(piece.start))
    return Reject(piece.reason, piece.detail, Origin(source), "")


def _parsed_head(lines: list[bytes]) -> list[Any]:
    head: list[Any] = []
    for line in lines:
        if len(head) == _HEAD:
            break
        try:
            head.append(jsonio.loads(line))
        except ValueError:
            continue
    return head


def _line_records(
    source: str, blocks: Iterable[LineBlock | LongLine | BrokenStream]
) -> Iterator[Record | Reject]:
    for block in blocks:
        if not isinstance(block, LineBlock):
            yield _unread_piece(source, block)
            continue
        for number, line in enumerate(block.lines, block.first):
            yield from _odd_line(source, number, line)


# Records side by side: items of an array, table rows, objects in memory.


def _group_items(source: str, records: Iterator[Record | Reject], *, owned: bool) -> Iterator[Item]:
    first = list(islice(records, _HEAD))
    head = [piece.value for piece in first if isinstance(piece, Record)]
    everything = chain(first, records)
    if head and not _is_plain(head[0]):
        session = _session_dialect(head)
        if session is not None:
            yield from _session_items(source, everything, session)
            return
        if holds_messages(head):
            yield from _conversation_items(source, everything)
            return
    for piece in everything:
        if isinstance(piece, Record):
            yield from _record_items(piece, owned=owned, strict=False)
        else:
            yield piece


def _session_items(
    source: str, records: Iterable[Record | Reject], dialect: SessionDialect
) -> Iterator[Item]:
    """Yield the conversations of a file that is one session; bad lines come after them."""
    rejects: list[Reject] = []
    count = 0

    def values() -> Iterator[Any]:
        nonlocal count
        for piece in records:
            if isinstance(piece, Record):
                count += 1
                yield piece.value
            else:
                rejects.append(piece)

    found = False
    for row in dialect.rows(values()):
        found = True
        yield RowItem(row, dialect.name, Origin(source))
    if not found:
        yield Ignored("no_conversation", Origin(source), count)
    yield from rejects


def _conversation_items(source: str, records: Iterable[Record | Reject]) -> Iterator[Item]:
    """Yield the one conversation of a source whose records are its messages."""
    messages: list[Any] = []
    for piece in records:
        if isinstance(piece, Record):
            messages.append(piece.value)
        else:
            yield piece
    yield from _normalised({"messages": messages}, Origin(source), owned=True, strict=False)


def _record_items(
    record: Record, *, owned: bool, strict: bool, depth: int = _DEEPEST_LIST
) -> Iterator[Item]:
    value, origin = record
    if isinstance(value, list | tuple) and not holds_messages(value) and depth:
        for item in value:
            inner = Record(item, origin)
            yield from _record_items(inner, owned=owned, strict=strict, depth=depth - 1)
        return
    if not isinstance(value, Mapping | list | tuple):
        detail = f"a record is an object; this is {type(value).__name__}"
        yield Reject("not_an_object", detail, origin, _raw(value))
        return
    if not _is_plain(value) and isinstance(value, dict):
        found = _dialect_items(value, origin)
        if found is not None:
            yield from found
            return
    yield from _normalised(value, origin, owned=owned, strict=strict)


def _normalised(value: Any, origin: Origin, *, owned: bool, strict: bool) -> Iterator[Item]:
    try:
        if owned and type(value) is dict:
            row = normalise(value, owned=True, strict=strict)
        else:
            row = as_row(value)
    except ValueError:
        yield Reject("too_deep", "nested deeper than can be read", origin, _raw(value))
        return
    if row is None:
        detail = "neither an ask nor steps were found in it"
        yield Reject("no_signal", detail, origin, _raw(value))
    else:
        yield RowItem(row, "rows", origin)


def _raw(value: object) -> str:
    try:
        text = jsonio.text(value)
    except (RecursionError, ValueError, TypeError):
        text = f"<{type(value).__name__} that cannot be written as JSON>"
    return text if len(text) <= RAW_CHARACTERS else text[:RAW_CHARACTERS] + "…"


# What the dialects say; they are loaded when the first record asks for them.


def _session_dialect(head: list[Any]) -> SessionDialect | None:
    from whileai_core.dialects import registry

    return registry.session_dialect(head)


def _dialect_items(value: dict[str, Any], origin: Origin) -> Iterator[Item] | None:
    from whileai_core.dialects import registry, spans

    dialect = registry.record_dialect(value)
    if dialect is not None:
        return _dialect_rows(dialect.rows(value), dialect.name, origin)
    if spans.is_span_payload(value):
        return _span_items(spans.spans_in(value, origin), origin)
    return None


def _dialect_rows(rows: Iterator[Row], name: str, origin: Origin) -> Iterator[Item]:
    found = False
    for row in rows:
        found = True
        yield RowItem(row, name, origin)
    if not found:
        yield Ignored("no_conversation", origin)


def _span_items(pieces: Iterator[Span | Reject | Ignored], origin: Origin) -> Iterator[Item]:
    for piece in pieces:
        yield piece if isinstance(piece, Reject | Ignored) else SpanItem(piece, origin)
