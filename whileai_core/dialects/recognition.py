"""What a record is: a row, a conversation, spans, or part of a session that spans the file.

Rows in the schema and plain chat need no dialect and are never shown to one. All else is shown,
in this order, to the session dialects (with the records beside it), to the record dialects, to
the span readers, and last to the many spellings of `normalise`.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core import jsonio
from whileai_core.dialects.columns import records_of_columns
from whileai_core.dialects.normalise import as_row, is_canonical, is_chat, normalise
from whileai_core.dialects.objects import plain
from whileai_core.dialects.shapes import (
    conversations_among,
    conversations_inside,
    holds_messages,
    holds_wrapped_messages,
    records_in,
    wrapped_message,
)
from whileai_core.rows import Row
from whileai_core.sources.items import Ignored, Origin, Record, Reject
from whileai_core.sources.limits import cut, raw_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.dialects.registry import RecordDialect, SessionDialect
    from whileai_core.dialects.spans import Span

HEAD_RECORDS = 8  # of a file, shown to the session dialects
_DEEPEST_LIST = 4
_ABOUT = ("id", "title", "name", "model", "created_at")
_CONVERSATION_IDS = (
    "conversation_id",
    "conversationId",
    "session_id",
    "sessionId",
    "thread_id",
    "threadId",
    "chat_id",
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


def is_plain(value: object) -> bool:
    """Tell whether a record needs no dialect: a row in the schema or plain chat."""
    # `final_text` is a name that no producer but the peer SDK uses.
    return type(value) is dict and ("final_text" in value or is_canonical(value) or is_chat(value))


def group_items(source: str, records: Iterator[Record | Reject], *, owned: bool) -> Iterator[Item]:
    """Yield what the records of one file, array or iterable are, looking at them together.

    Args:
        source: Where they stood.
        records: The records.
        owned: Whether nobody else holds them, so that they may be changed in place.
    """
    first = list(islice(records, HEAD_RECORDS))
    head = [piece.value for piece in first if isinstance(piece, Record)]
    together = joint_items(source, head, chain(first, records))
    if together is not None:
        yield from together
        return
    for piece in chain(first, records):
        if isinstance(piece, Record):
            yield from record_items(piece, owned=owned)
        else:
            yield piece


def joint_items(
    source: str, head: list[Any], records: Iterable[Record | Reject]
) -> Iterator[Item] | None:
    """Return what the records are if they belong together: a session, or one conversation.

    None means that each is a record of its own; `records` is then untouched.
    """
    if not head or is_plain(head[0]):
        return None
    from whileai_core.dialects import registry  # when the first record asks for it

    session = registry.session_dialect(head)
    if session is not None:
        return _session_items(source, records, session)
    if holds_messages(head) or holds_wrapped_messages(head):
        return _conversation_items(source, records)
    rest = head[1:]
    if len(rest) > 1 and (holds_messages(rest) or holds_wrapped_messages(rest)):
        return _headed_items(source, records)
    return None


def _session_items(
    source: str, records: Iterable[Record | Reject], dialect: SessionDialect
) -> Iterator[Item]:
    """Yield the conversations of a file that is one session; bad records come after them."""
    rejects: list[Reject] = []

    def read() -> Iterator[Any]:
        for piece in records:
            if isinstance(piece, Record):
                yield piece.value
            else:
                rejects.append(piece)

    yield from _dialect_rows(dialect, Record(read(), Origin(source)))
    yield from rejects


def _headed_items(source: str, records: Iterable[Record | Reject]) -> Iterator[Item]:
    """Yield the conversation of a file whose first record is about the messages that follow."""
    listed = iter(records)
    for piece in listed:
        if isinstance(piece, Record):
            yield Ignored("no_conversation", piece.origin)
            break
        yield piece
    yield from _conversation_items(source, listed)


def _conversation_items(source: str, records: Iterable[Record | Reject]) -> Iterator[Item]:
    """Yield the conversations of a source whose records are messages: one, or one for each id."""
    conversations: dict[object, list[Any]] = {}
    for piece in records:
        if isinstance(piece, Record):
            message = wrapped_message(piece.value) or piece.value
            conversations.setdefault(_conversation_id(piece.value), []).append(message)
        else:
            yield piece
    for identity, messages in conversations.items():
        row: Row = {"messages": messages}
        if identity is not None:
            row["conversation_id"] = identity
        yield from _normalised(Record(row, Origin(source)), owned=True, exact=False)


def _conversation_id(message: object) -> str | None:
    if isinstance(message, dict):
        for key in _CONVERSATION_IDS:
            if isinstance(message.get(key), str | int):
                return str(message[key])
    return None


def record_items(
    record: Record, *, owned: bool, exact: bool = False, depth: int = _DEEPEST_LIST
) -> Iterator[Item]:
    """Yield what one record is, by itself.

    Args:
        record: The record.
        owned: Whether it may be changed in place.
        exact: Whether it comes from text that is strict JSON without integers past 64 bits.
        depth: How deep lists of records are looked into.
    """
    value, origin, _ = record
    if isinstance(value, list | tuple) and depth and not holds_messages(value):
        for item in value:
            inner = Record(item, origin)
            yield from record_items(inner, owned=owned, exact=exact, depth=depth - 1)
        return
    if not isinstance(value, Mapping | list | tuple):
        said = _said_by(value) if depth else None
        if said is not None:
            yield from record_items(Record(said, origin), owned=True, depth=depth - 1)
            return
        detail = f"a record is an object; this is {type(value).__name__}"
        yield Reject("not_an_object", detail, origin, _raw(record))
        return
    if depth and type(value) is dict and (table := records_of_columns(value)) is not None:
        yield from _contained_items(table, origin, depth=depth)
        return
    if isinstance(value, dict) and not is_plain(value):
        found = _dialect_items(record)
        if found is not None:
            yield from found
            return
        several = conversations_among(value) if depth else None
        if several is not None:
            yield from _contained_items(several, origin, depth=depth)
            return
    yield from _normalised(record, owned=owned, exact=exact, depth=depth)


def _said_by(value: object) -> Any:
    """Return the structure behind JSON text, or behind an object of another library, else None."""
    said = value
    if isinstance(value, str | bytes):
        try:
            said = jsonio.loads(value)
        except ValueError:
            return None
    elif not isinstance(value, int | float | type(None)):
        said = plain(value)
    return said if isinstance(said, dict | list) else None


def _contained_items(items: list[Any], origin: Origin, *, depth: int) -> Iterator[Item]:
    """Yield what the items of a list inside a record are, looking at them together."""
    records = [Record(item, origin) for item in items]
    together = joint_items(origin.source, items[:HEAD_RECORDS], records)
    if together is not None:
        yield from together
        return
    for record in records:
        yield from record_items(record, owned=False, depth=depth - 1)


def _inner_items(value: object, origin: Origin, *, depth: int) -> list[Item]:
    """Return what is inside a record that is no conversation itself: records, or messages."""
    if not isinstance(value, dict) or not depth:
        return []
    for items in records_in(value):
        found = list(_contained_items(items, origin, depth=depth))
        if any(isinstance(item, SpanItem) or _says_something(item) for item in found):
            return found
    inside = conversations_inside(value)
    found = []
    for place in inside:
        row = _about(place.holder) | {"messages": place.messages}
        if len(inside) > 1 and place.named:
            row["conversation_id"] = place.key
        found += _normalised(Record(row, origin), owned=True, exact=False)
    return found


def _says_something(item: Item) -> bool:
    if not isinstance(item, RowItem):
        return False
    row = item.row
    return bool(row["prompt"] or row["final_text"]) or any("tool" in step for step in row["steps"])


def _about(holder: dict[str, Any]) -> Row:
    """Return what an object says about the messages it holds."""
    row: Row = {key: holder[key] for key in _ABOUT if isinstance(holder.get(key), str | int)}
    identity = _conversation_id(holder)
    return row if identity is None else row | {"conversation_id": identity}


def _dialect_items(record: Record) -> Iterator[Item] | None:
    from whileai_core.dialects import registry, spans  # when the first record asks for them

    dialect = registry.record_dialect(record.value)
    if dialect is not None:
        return _dialect_rows(dialect, record)
    if spans.is_span_payload(record.value):
        return _span_items(spans.spans_in(record.value, record.origin), record.origin)
    return None


def _dialect_rows(dialect: RecordDialect, record: Record) -> Iterator[Item]:
    origin = record.origin
    found = False
    for row in dialect.read(record.value):
        found = True
        if isinstance(row, dict):
            yield RowItem(row, dialect.name, origin)
        else:
            raw = _raw(record) if isinstance(record.value, dict) else ""
            yield Reject("unreadable_record", f"{dialect.name}: {row.detail}", origin, raw)
    if not found:
        yield Ignored("no_conversation", origin)


def _span_items(pieces: Iterator[Span | Reject | Ignored], origin: Origin) -> Iterator[Item]:
    for piece in pieces:
        yield piece if isinstance(piece, Reject | Ignored) else SpanItem(piece, origin)


def _normalised(record: Record, *, owned: bool, exact: bool, depth: int = 0) -> Iterator[Item]:
    value, origin, text = record
    try:
        if owned and type(value) is dict:
            if not text:  # what it said is to be known if nothing comes of it
                record = Record(dict(value), origin)
            row = normalise(value, owned=True, exact=exact)
        else:
            row = as_row(value)
    except ValueError:
        yield Reject("too_deep", "nested deeper than can be read", origin, _raw(record))
        return
    if row is None:
        inside = _inner_items(value, origin, depth=depth)
        if inside:
            yield from inside
            return
        detail = "neither an ask nor steps were found in it"
        yield Reject("no_signal", detail, origin, _raw(record))
    else:
        yield RowItem(row, "rows", origin)


def _raw(record: Record) -> str:
    """Return what a record said: its own text, else its value as JSON."""
    if record.text:
        return raw_text(record.text.strip())
    try:
        return cut(jsonio.text(record.value))
    except (RecursionError, ValueError, TypeError):
        return f"<{type(record.value).__name__} that cannot be written as JSON>"
