"""Spans to rows: each span once, grouped by conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.spans.conversation import row_of
from whileai_core.dialects.spans.grouping import each_once, grouped, whole_traces
from whileai_core.dialects.spans.reader import REWARD_KEYS, read
from whileai_core.dialects.spans.straight import straight_row
from whileai_core.dialects.spans.usual import UsualSpans

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.dialects.spans.briefs import Brief
    from whileai_core.dialects.spans.histories import History
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span
    from whileai_core.rows import Row


class Collector:
    """Takes spans as they come and gives the rows of their conversations.

    Only what rows need is kept of a span, and of histories that repeat only the longest. Order
    of arrival and repeated delivery change nothing but the order of the rows.
    """

    def __init__(self, reward_keys: Iterable[str] = REWARD_KEYS) -> None:
        self._reward_keys = (reward_keys,) if isinstance(reward_keys, str) else tuple(reward_keys)
        self._usual = UsualSpans(self._reward_keys)
        self._members: list[Brief | Reading] = []
        self._last_chats: dict[str, Brief | Reading] = {}

    def add(self, span: Span) -> None:
        """Take one span."""
        reading = self._usual.shared(read(span, self._reward_keys))
        self._members.append(reading)
        if reading.history is not None:
            self._chatted(reading, reading.history)

    def others_in(self, spans: list[Any]) -> Iterator[Any]:
        """Take the usual spans of a list as OTLP/JSON writes them; yield the others in place."""
        read, keep = self._usual.read, self._members.append
        for raw in spans:
            brief = read(raw)
            if brief is None:
                yield raw
                continue
            keep(brief)
            if brief.history is not None:
                self._chatted(brief, brief.history)

    def _chatted(self, member: Brief | Reading, history: History) -> None:
        """Keep of histories in one trace that repeat each other only the longest."""
        last = self._last_chats.get(member.trace)
        if last is not None and last.history is not None:
            history.join(last.history)
            last.repeated_in(history)
        self._last_chats[member.trace] = member

    def rows(self) -> list[Row]:
        """Return the rows of all conversations, in the order of their first spans.

        The collector is empty then: each span is let go as its row is made.
        """
        members = self._members
        self._members = []
        self._last_chats.clear()
        self._usual = UsualSpans(self._reward_keys)
        groups = whole_traces(members) or {
            key: [[*group]] for key, group in grouped([m.reading() for m in members]).items()
        }
        members.clear()
        rows = []
        for key in list(groups):
            row = _row_of(key, groups.pop(key))
            if row is not None:
                rows.append(row)
        return rows


def _row_of(key: str, traces: list[list[Brief | Reading]]) -> Row | None:
    """Return the row of one conversation, made from these traces."""
    row = straight_row(key, traces[0]) if len(traces) == 1 else None
    if row is not None:
        return row
    readings = [reading for trace in traces for reading in each_once([m.reading() for m in trace])]
    for reading in readings:
        reading.restore()
    row = row_of(key, readings)
    return row if row is None else _strict(row)


def _strict(row: Row) -> Row:
    """Clean a row of what strict JSON cannot carry: lone surrogates from spans in memory."""
    try:
        jsonio.dumps(row)
    except (TypeError, ValueError, RecursionError):
        cleaned: Row = jsonio.strict(row)
        return cleaned
    return row


def carries_content(span: Span) -> bool:
    """Tell whether a span says anything of a conversation beyond its place in the tree."""
    return read(span).has_content


def rows_from_spans(
    spans: Iterable[Span], *, reward_keys: Iterable[str] = REWARD_KEYS
) -> list[Row]:
    """Return one row per conversation, in the order of their first spans.

    The same spans give the same rows in any order and however often they are repeated. Spans
    without conversation content give none.

    Args:
        spans: Spans of whole conversations: a row is as good as the spans it is made from.
        reward_keys: Attributes that may hold the reward, by precedence.
    """
    collector = Collector(reward_keys)
    for span in spans:
        collector.add(span)
    return collector.rows()
