"""Items of a source with one record a line: the path that most records take.

A line is parsed, looked at once, and handed on; nothing is kept. Lines that are not strict JSON
by themselves take the long way.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.normalise import fill_from_chat, is_canonical, settle_reward
from whileai_core.dialects.recognition import HEAD_RECORDS, RowItem, joint_items, record_items
from whileai_core.sources.items import Origin, Record, Reject
from whileai_core.sources.limits import raw_text
from whileai_core.sources.lines import LineBlock, LongLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.dialects.recognition import Item
    from whileai_core.sources.compression import BrokenStream
    from whileai_core.sources.lines import Piece
    from whileai_core.sources.texts import Lines

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_AROUND_VALUES = b" \t\r\n\f\v\x1e,"


def lines_items(lines: Lines) -> Iterator[Item]:
    """Yield what the lines of one source are."""
    first = list(islice(lines.blocks, 2))  # the last line may come in a block of its own
    if not first:
        return
    pieces = chain(first, lines.blocks)
    head = _parsed_head(
        [line for part in first if isinstance(part, LineBlock) for line in part.lines]
    )
    together = joint_items(lines.source, head, _records(lines.source, pieces))
    if together is not None:
        yield from together
        return
    for piece in pieces:
        if isinstance(piece, LineBlock):
            yield from _block_items(lines.source, piece)
        else:
            yield unread_piece(lines.source, piece)


def _block_items(source: str, block: LineBlock) -> Iterator[Item]:
    exact = block.exact
    parse = jsonio.loads_exact if exact else jsonio.loads_strict
    make = tuple.__new__  # a third of the cost of calling a named tuple
    for number, line in enumerate(block.lines, block.first):
        try:
            value = parse(line)
        except ValueError:
            yield from _odd_line_items(source, number, line)
            continue
        origin: Origin = make(Origin, (source, f"line {number}"))
        if type(value) is dict and (is_canonical(value) or fill_from_chat(value, exact)):
            if "reward" in value:
                settle_reward(value)
            yield make(RowItem, (value, "rows", origin))
        else:
            yield from record_items(Record(value, origin, line), owned=True, exact=exact)


def _odd_line_items(source: str, number: int, line: bytes) -> Iterator[Item]:
    for piece in line_records(source, number, line):
        if isinstance(piece, Record):
            yield from record_items(piece, owned=True)
        else:
            yield piece


def _records(source: str, pieces: Iterable[Piece]) -> Iterator[Record | Reject]:
    for piece in pieces:
        if isinstance(piece, LineBlock):
            for number, line in enumerate(piece.lines, piece.first):
                yield from line_records(source, number, line)
        else:
            yield unread_piece(source, piece)


def line_records(source: str, number: int, line: bytes) -> Iterator[Record | Reject]:
    """Yield what one line holds: nothing, a value, several values in a row, or a reject."""
    text = line.removeprefix(_BYTE_ORDER_MARK).strip(_AROUND_VALUES)
    if not text:
        return
    origin = Origin(source, f"line {number}")
    try:
        yield Record(jsonio.loads(text), origin, text)
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
        for value, begin, end in found:
            yield Record(value, origin, decoded[begin:end].encode())
    else:
        yield Reject("not_json", problem, origin, raw_text(text))


def unread_piece(source: str, piece: LongLine | BrokenStream) -> Reject:
    """Account for a line past the limit, or for the break of a stream."""
    if isinstance(piece, LongLine):
        origin = Origin(source, f"line {piece.number}")
        detail = "the line is longer than the limit"
        return Reject("too_large", detail, origin, raw_text(piece.start))
    return Reject(piece.reason, piece.detail, Origin(source), "")


def _parsed_head(lines: list[bytes]) -> list[Any]:
    head: list[Any] = []
    for line in lines:
        if len(head) == HEAD_RECORDS:
            break
        try:
            head.append(jsonio.loads(line))
        except ValueError:
            continue
    return head
