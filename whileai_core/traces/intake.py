"""What the trace operations accept, brought to rows: lists, iterators, one row, a path.

The operations read rows in the schema. Items that are not in it yet (chat messages, exports with
other key names) are read by the dialects, one at a time, so that none is counted as empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row, Step


_LOOKED_AT = 8
_ROW_KEYS = frozenset({"prompt", "steps", "messages"})


def items_of(source: object) -> Iterable[Any]:
    """Return the items of `source`; one object is one item, a path is read.

    Items of which several make a row (spans, events of a session, messages) are put together.

    Raises:
        TypeError: `source` is nothing that holds items (None, a number).
        FileNotFoundError: `source` is a path that is not there.
    """
    if isinstance(source, dict) and ("prompt" in source or _read(source) is not None):
        return [source]
    if isinstance(source, str | bytes | Path | dict):
        return _loaded(source)
    if not isinstance(source, Iterable):
        raise TypeError(
            f"expected rows or an iterable of rows, got {type(source).__name__}; "
            "pass a list of row objects"
        )
    items: Iterable[Any] = source
    if isinstance(source, list | tuple):
        head = source[:_LOOKED_AT]
    else:
        items = iter(source)
        head = list(islice(items, _LOOKED_AT))
        items = chain(head, items)
    return _loaded(items) if are_parts(head) or _are_messages(head) else items


def are_parts(head: Sequence[Any]) -> bool:
    """Tell from the first items whether they are spans, span batches or events of a session."""
    first = next((item for item in head if type(item) is dict), None)
    if first is None or not _ROW_KEYS.isdisjoint(first):
        return False
    from whileai_core.dialects import registry, spans

    return spans.is_span_payload(first) or registry.session_dialect(list(head)) is not None


def _are_messages(head: Sequence[Any]) -> bool:
    from whileai_core.dialects.shapes import holds_messages

    return bool(head) and type(head[0]) is dict and "role" in head[0] and holds_messages(head)


def _loaded(source: object) -> list[Row]:
    from whileai_core.dialects.load import load_traces

    return load_traces(source)


def as_schema_row(item: object) -> Row | None:
    """Return `item` as a row of the schema, or None when it is no object and no chat.

    Rows already in the schema are returned as they are, never copied. An object the dialects can
    make nothing of, or that is nested too deep for them, comes back as it is: a row with nothing
    in it but what it spells as the schema does.
    """
    if type(item) is not dict:
        if isinstance(item, list | tuple):  # the messages of a conversation
            return _read(item)
        if not isinstance(item, Mapping):
            return None
        item = dict(item)
    if "prompt" in item and "steps" in item and not _is_unread(item):
        return item
    row = _read(item)
    return item if row is None else row


def ask_of(row: Row) -> str:
    """Return the ask of a row, trimmed; one that is no row of the schema yet is read for it."""
    prompt = row.get("prompt")
    if prompt and not isinstance(prompt, list | dict) and (text := plain_text(prompt).strip()):
        return text
    read = as_schema_row(row)
    return plain_text((row if read is None else read).get("prompt")).strip()


def schema_step(step: Step) -> Step:
    """Return a tool step under the schema's key names; it need not have been loaded before."""
    row = _read({"steps": [step]})
    steps = row["steps"] if row is not None else []
    return steps[0] if steps else step


def _read(item: object) -> Row | None:
    from whileai_core.dialects.normalise import as_row

    try:
        return as_row(item)
    except ValueError:  # nested too deep to be copied: read what can be read of it as it is
        return None


def _is_unread(item: Row) -> bool:
    """Tell whether a row with both keys may still say its ask or its turns otherwise."""
    prompt, steps = item["prompt"], item["steps"]
    if isinstance(prompt, list | dict) and prompt:
        return True
    if not steps:
        return any(type(value) is list and value for value in item.values())
    if type(steps) is not list:
        return isinstance(steps, str)
    for step in steps:
        if type(step) is dict and not ("tool" in step or "text" in step or "user" in step):
            return True
    return False


def rows_with_items(source: object) -> Iterator[tuple[Any, Row]]:
    """Yield each object of `source` beside its reading as a row; other items are left out."""
    for item in items_of(source):
        row = as_schema_row(item)
        if row is not None:
            yield item, row


def rows_of(source: object) -> Iterator[Row]:
    """Yield the objects of `source` as rows; `None` holds none."""
    if source is not None:
        for _, row in rows_with_items(source):
            yield row
