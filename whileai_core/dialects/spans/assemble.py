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
        self._places: dict[tuple[str, str, str], int] = {}
        self._last_history: dict[str, History] = {}

    def add(self, span: Span) -> None:
        """Take one span."""
        reading = read(span, self._reward_keys)
        readings = self._readings
        if reading.span:
            key = (reading.trace, reading.span, reading.name)
            place = self._places.setdefault(key, len(readings))
            if place != len(readings):
                if _weight(reading) > _weight(readings[place]):
                    readings[place] = reading
                return
        readings.append(reading)
        if reading.history is not None:
            last = self._last_history.get(reading.trace)
            if last is not None:
                reading.history.join(last)
            self._last_history[reading.trace] = reading.history

    def rows(self) -> list[Row]:
        """Return the rows of all conversations, in the order of their first spans."""
        found = (row_of(key, group) for key, group in grouped(self._readings).items())
        return [_strict(row) for row in found if row is not None]


def _strict(row: Row) -> Row:
    """Clean a row of what strict JSON cannot carry: lone surrogates from spans in memory."""
    try:
        jsonio.dumps(row)
    except (TypeError, ValueError, RecursionError):
        cleaned: Row = jsonio.strict(row)
        return cleaned
    return row


def _weight(reading: Reading) -> tuple[int, int, str]:
    """Order two deliveries of one span: the one that ended later and says more is the span."""
    content = {
        name: value.text if name == "history" else value
        for name, value in sorted(reading.__dict__.items())
        if value not in (None, "", 0, ())
    }
    return (reading.end, len(content), jsonio.text(content))


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
