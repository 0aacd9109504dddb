"""Spans to rows: each span once, grouped by conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.spans.conversation import row_of
from whileai_core.dialects.spans.grouping import grouped
from whileai_core.dialects.spans.reader import REWARD_KEYS, read
from whileai_core.dialects.spans.usual import UsualSpans

if TYPE_CHECKING:
    from collections.abc import Iterable

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
        self._readings: list[Reading] = []
        self._traces: dict[str, list[Reading]] = {}
        self._last_chats: dict[str, Reading] = {}

    def add(self, span: Span) -> None:
        """Take one span."""
        self._take(self._usual.shared(read(span, self._reward_keys)))

    def took(self, raw: dict[str, Any]) -> bool:
        """Take a span as OTLP/JSON writes it, if it is a usual one; tell whether it was."""
        reading = self._usual.read(raw)
        if reading is None:
            return False
        self._take(reading)
        return True

    def _take(self, reading: Reading) -> None:
        trace = reading.trace
        self._readings.append(reading)
        members = self._traces.get(trace)
        if members is None:
            self._traces[trace] = [reading]
        else:
            members.append(reading)
        history = reading.history
        if history is not None:
            last = self._last_chats.get(trace)
            if last is not None and last.history is not None:
                history.join(last.history)
                last.repeated_in(history)
            self._last_chats[trace] = reading

    def rows(self) -> list[Row]:
        """Return the rows of all conversations, in the order of their first spans.

        The collector is empty then: each span is let go as its row is made.
        """
        groups = grouped(self._readings, self._traces)
        self._readings.clear()
        self._traces.clear()
        self._last_chats.clear()
        self._usual = UsualSpans(self._reward_keys)
        rows = []
        for key in list(groups):
            group = groups.pop(key)
            for reading in group:
                reading.restore()
            row = row_of(key, group)
            if row is not None:
                rows.append(_strict(row))
        return rows


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
