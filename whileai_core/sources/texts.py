"""JSON texts in all their layouts: lines, one document, an array, documents in a row."""

from __future__ import annotations

import codecs
import io
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core import jsonio
from whileai_core.sources.batches import LARGE_BYTES, cut_batches, loads_of_batch, starts_batch
from whileai_core.sources.compression import BrokenStream
from whileai_core.sources.items import Ignored, Origin, Record, Reject
from whileai_core.sources.limits import raw_text
from whileai_core.sources.lines import BLOCK_BYTES, Piece, line_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.sources.compression import ByteStream
    from whileai_core.sources.limits import Limits

_HEAD_BYTES = 64 * 1024
_LINES_TRIED = 64
_GAP = re.compile(r"[\s,\x1e]*")
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Lines(NamedTuple):
    """A source of one JSON value a line, not yet parsed."""

    source: str
    blocks: Iterator[Piece]


class Items(NamedTuple):
    """Records of one source that belong side by side: the items of an array."""

    source: str
    records: Iterator[Record | Reject]


def text_parts(
    stream: ByteStream, name: str, limits: Limits
) -> Iterator[Lines | Items | Record | Reject | Ignored]:
    """Recognise the layout of a text and yield what it holds."""
    head, ended, broken = _head(stream, limits)
    if head.startswith(_UTF16):
        data, broken = _rest(stream, head, limits, broken)
        stream = io.BytesIO(data.decode("utf-16", "replace").encode())
        head, ended, _ = _head(stream, limits)
    head = head.removeprefix(codecs.BOM_UTF8)
    if broken is None and ended and not head.strip():
        yield Ignored("empty_source", Origin(name))
        return
    layout = "lines" if len(head) > limits.record_bytes else _layout(head, ended)
    if layout == "lines":
        yield Lines(name, line_blocks(stream, longest=limits.record_bytes, start=head))
        broken = None  # the lines end with it
    elif layout == "document":
        data, broken = _rest(stream, head, limits, broken)
        yield from _document(data, name, broken)
    elif broken is None:
        detail = "neither JSON nor any other format that is read here"
        yield Reject("unknown_format", detail, Origin(name), raw_text(head[:1024]))
    if broken is not None:
        yield Reject(broken.reason, broken.detail, Origin(name), raw_text(head[:1024]))


def _head(stream: ByteStream, limits: Limits) -> tuple[bytes, bool, BrokenStream | None]:
    """Read until the first line is whole; tell whether that was everything."""
    pieces = io.BytesIO()  # grows in place: a document may be most of what there is memory for
    whole_line = False
    while pieces.tell() <= limits.record_bytes and (pieces.tell() < _HEAD_BYTES or not whole_line):
        try:
            data = stream.read1(BLOCK_BYTES)
        except BrokenStream as error:
            return pieces.getvalue(), True, error
        if not data:
            return pieces.getvalue(), True, None
        pieces.write(data)
        whole_line = whole_line or b"\n" in data.lstrip()
    return pieces.getvalue(), False, None


def _rest(
    stream: ByteStream, head: bytes, limits: Limits, broken: BrokenStream | None
) -> tuple[bytes, BrokenStream | None]:
    """Read a document to its end, or to the limit."""
    pieces = io.BytesIO(head)
    pieces.seek(len(head))
    while broken is None:
        try:
            data = stream.read1(BLOCK_BYTES)
        except BrokenStream as error:
            broken = error
            break
        if not data:
            break
        pieces.write(data)
        if pieces.tell() > limits.record_bytes:
            detail = f"one document of more than {limits.record_bytes} bytes"
            return pieces.getvalue(), BrokenStream("too_large", detail)
    return pieces.getvalue(), broken


def _layout(head: bytes, ended: bool) -> str:
    """Tell `lines`, `document` or `unknown` from the beginning of a text."""
    start = head.lstrip()[:1]
    end = head.find(b"\n")
    if ended and start in (b"{", b"[") and (end < 0 or not head[end:].strip()):
        return "document"  # on one line: no copy of it is made
    lines = head.split(b"\n")
    if not ended:
        lines.pop()  # may go on
    lines = [line for line in map(bytes.strip, lines[: 4 * _LINES_TRIED]) if line]
    if not lines:
        return "document" if start in (b"{", b"[") else "unknown"
    first = lines[0]
    if ended and len(lines) == 1 and start in (b"{", b"["):
        return "document"
    if _parses(first):
        return "document" if ended and len(lines) == 1 else "lines"
    if first not in (b"{", b"["):
        for line in lines[1:_LINES_TRIED]:
            if line.startswith((b"{", b"[")) and _parses(line):
                return "lines"
    return "document" if start in (b"{", b"[", b"\x1e") else "unknown"


def _parses(line: bytes) -> bool:
    try:
        jsonio.loads(line)
    except ValueError as error:
        return str(error) == jsonio.TOO_DEEP
    return True


def _document(
    data: bytes, name: str, broken: BrokenStream | None
) -> Iterator[Items | Record | Reject]:
    if len(data) > LARGE_BYTES and starts_batch(data) and broken is None:
        for batch in cut_batches(data):
            if isinstance(batch, bytes):
                data = batch
            else:
                yield Record(batch, Origin(name))
    try:
        value = _value_of(data)
    except ValueError as error:
        yield Items(name, _salvaged(data, name, str(error), broken))
        return
    if isinstance(value, list):
        yield Items(name, _records(value, name))
    else:
        yield Record(value, Origin(name), data)


def _value_of(data: bytes) -> Any:
    return loads_of_batch(data) if starts_batch(data) else jsonio.loads(data)


def _records(values: list[Any], name: str) -> Iterator[Record]:
    for number, value in enumerate(values, 1):
        yield Record(value, Origin(name, f"item {number}"))


def _salvaged(
    data: bytes, name: str, error: str, broken: BrokenStream | None
) -> Iterator[Record | Reject]:
    """Yield the good values of a text that is no one document, and rejects between them.

    Where a value is broken, the next one is looked for at the start of a line with the same
    indentation as the first.
    """
    text = data.decode("utf-8", "surrogateescape")
    start = _after_gap(text, 0)
    if text.startswith("[", start):
        start = _after_gap(text, start + 1)
    next_value = _same_indentation(text, start)
    number = 0
    while True:
        for value, begin, end in jsonio.scan(text, start):
            number += 1
            yield _salvaged_value(value, text[begin:end], Origin(name, f"item {number}"))
            start = end
        start = _after_gap(text, start)
        if start == len(text) or _ends(text, start):
            return
        found = next_value.search(text, start + 1)
        stop = found.start(1) if found else len(text)
        number += 1
        if broken is None or found:
            piece = raw_text(text[start:stop].strip().encode("utf-8", "surrogateescape"))
            yield Reject("not_json", error, Origin(name, f"item {number}"), piece)
        if not found:
            return
        start = stop


def _after_gap(text: str, start: int) -> int:
    match = _GAP.match(text, start)
    return match.end() if match else start


def _ends(text: str, start: int) -> bool:
    return text.startswith("]", start) and _after_gap(text, start + 1) == len(text)


def _same_indentation(text: str, begin: int) -> re.Pattern[str]:
    """Return what finds the start of a value at the beginning of a line, indented as this one."""
    indentation = text[text.rfind("\n", 0, begin) + 1 : begin]
    if indentation.strip(" \t"):
        indentation = ""
    return re.compile(rf"\n{re.escape(indentation)}([\[{{])")


def _salvaged_value(value: Any, piece: str, origin: Origin) -> Record | Reject:
    try:
        text = piece.encode("utf-8")
    except UnicodeEncodeError:
        raw = raw_text(piece.encode("utf-8", "surrogateescape"))
        return Reject("not_utf8", "holds bytes that are no UTF-8", origin, raw)
    return Record(value, origin, text)
