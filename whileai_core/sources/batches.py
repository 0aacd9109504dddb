"""A large OTLP/JSON document as many small batches: held as a whole it takes many times its size.

Fresh memory for all of it costs more time than the parsing does. The list that is long, of spans,
scopes or resources, is cut before items that begin as its first one. What lies between two cuts
is whole items if it parses: a cut inside an item leaves brackets open.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE_BYTES = 1024 * 1024
_PIECE_BYTES = 64 * 1024  # stays in the processor's cache
_TRIES = 4  # each with a piece twice as long
# The lists inside one another, each with the key that has to stand before it.
_LISTS = (("resourceSpans", ""), ("scopeSpans", "resource"), ("spans", "scope"))
_FIRST_ITEM = re.compile(rb'\[\s*(\{\s*"\w+")')

_BATCH_START = re.compile(rb'\s*\{\s*"resourceSpans"')


def starts_batch(text: bytes) -> bool:
    """Tell whether JSON text begins as an OTLP/JSON batch does.

    OTLP/JSON writes 64-bit integers as texts: no number in a batch is too long for any parser.
    """
    return _BATCH_START.match(text) is not None


def loads_of_batch(text: bytes) -> Any:
    """Parse JSON text that is a batch or stood in one.

    Raises:
        ValueError: It is not JSON, or is nested too deep.
    """
    try:
        return jsonio.loads_exact(text)
    except ValueError:
        return jsonio.loads(text)  # NaN and the like


def cut_batches(data: bytes) -> Iterator[dict[str, Any] | bytes]:
    """Yield batches that together hold what a document does, the last one as text.

    The last one is what could not be cut any more: a document of its own, whether it can be read
    or not. Keys that follow the long list stand in it alone.

    Args:
        data: Text that starts as a batch does.
    """
    starts = _starts(data)
    start = starts[-1].start(1) if starts else 0
    head = data[:start]
    path = _LISTS[: len(starts)]
    try:
        around = jsonio.loads_exact(head + b"]}" * len(path))
        _with(around, path, [])
    except (ValueError, LookupError, TypeError):
        yield data
        return
    while (piece := _piece(data, start, starts[-1][1])) is not None:
        items, start = piece
        yield _with(around, path, items)
    yield head + data[start:]


def _starts(data: bytes) -> list[re.Match[bytes]]:
    """Return where the lists begin, from the outermost to the one that is long."""
    found: list[re.Match[bytes]] = []
    at = 0
    for name, _ in _LISTS:
        key = re.compile(rb'"%b"\s*:\s*' % name.encode()).search(data, at, at + LARGE_BYTES)
        first = _FIRST_ITEM.match(data, key.end()) if key else None
        if first is None:
            break
        found.append(first)
        at = first.end()
        if data.find(first[1], at, at + LARGE_BYTES) >= 0:
            break
    return found


def _with(
    around: dict[str, Any], path: tuple[tuple[str, str], ...], items: list[Any]
) -> dict[str, Any]:
    """Return a batch with other items in its innermost list.

    Raises:
        ValueError: A list on the way does not hold exactly one item.
        LookupError: What has to stand before a list does not.
    """
    (name, before), *inner = path
    if before:
        around[before]
    if not inner:
        return {**around, name: items}
    [item] = around[name]
    return {**around, name: [_with(item, tuple(inner), items)]}


def _piece(data: bytes, start: int, mark: bytes) -> tuple[list[Any], int] | None:
    """Return some items from here on and where the next one starts, None if that is not sure."""
    length = _PIECE_BYTES
    for _ in range(_TRIES):
        next_start = data.find(mark, start + length)
        if next_start < 0:
            return None
        end = data.rfind(b",", start, next_start)
        if end >= 0 and not data[end + 1 : next_start].strip():
            try:
                return loads_of_batch(
                    b"".join((b"[", memoryview(data)[start:end], b"]"))
                ), next_start
            except ValueError:  # the mark began something inside an item
                pass
        length *= 2
    return None
