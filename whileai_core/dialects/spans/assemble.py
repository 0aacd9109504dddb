"""Spans to rows: each span once, grouped by conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core import jsonio
from whileai_core.dialects.spans.conversation import row_of
from whileai_core.dialects.spans.grouping import conversation_id, grouped
from whileai_core.dialects.spans.reader import read

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.dialects.spans.histories import History
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span
    from whileai_core.rows import Row

REWARD_KEYS = ("whileai.reward",)


class Collector:
    """Takes spans as they come and gives the rows of their conversations.

    Only what rows need is kept of a span, and of histories that repeat only the longest. Order
    of arrival and repeated delivery change nothing but the order of the rows.
    """

    def __init__(self, reward_keys: Iterable[str] = REWARD_KEYS) -> None:
        self._reward_keys = (reward_keys,) if isinstance(reward_keys, str) else tuple(reward_keys)
        self._readings: list[Reading] = []
        self._last_history: dict[str, History] = {}
        self._texts: dict[str, str] = {}

    def add(self, span: Span) -> None:
        """Take one span."""
        reading = read(span, self._reward_keys)
        # Ids and names come again with every span: one copy of each will do.
        once = self._texts.setdefault
        reading.trace = trace = once(reading.trace, reading.trace)
        reading.parent = once(reading.parent, reading.parent)
        reading.name = once(reading.name, reading.name)
        if type(reading.conversation) is str:
            reading.conversation = once(reading.conversation, reading.conversation)
        self._readings.append(reading)
        if reading.history is not None:
            last = self._last_history.get(trace)
            if last is not None:
                reading.history.join(last)
            self._last_history[trace] = reading.history

    def rows(self) -> list[Row]:
        """Return the rows of all conversations, in the order of their first spans.

        The collector is empty then: each span is let go as its row is made.
        """
        groups = grouped(self._readings)
        self._readings.clear()
        self._last_history.clear()
        self._texts.clear()
        rows = []
        for key in list(groups):
            row = row_of(key, groups.pop(key))
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


def conversation_of(span: Span) -> str | None:
    """Return the conversation id a span carries itself, or None."""
    return conversation_id(read(span))


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
