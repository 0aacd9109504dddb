"""Requests and results of a batch API, which carry an id of the caller's, joined by it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from whileai_core.dialects.messages.values import text_id
from whileai_core.dialects.records.shape import Object, obj

ID = "custom_id"


@dataclass(slots=True)
class Exchange:
    """One request of a batch and what came of it; either may be in another file."""

    id: str | None
    request: Object = field(default_factory=dict)
    result: Object = field(default_factory=dict)


def exchanges(values: Iterable[object], is_result: Callable[[Object], bool]) -> list[Exchange]:
    """Return the exchanges in the order of their first record.

    Args:
        values: Requests and results, mixed.
        is_result: Tells a result from a request.
    """
    found: dict[str, Exchange] = {}
    for number, record in enumerate(map(obj, values)):
        identity = text_id(record.get(ID))
        exchange = found.setdefault(identity or f" {number}", Exchange(identity))
        if is_result(record):
            exchange.result = record
        else:
            exchange.request = record
    return list(found.values())
