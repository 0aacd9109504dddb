"""The records of the sandbox world: what a reference stands for, the same at every look."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from whileai_core import jsonio
from whileai_core.simulation.chance import number, pick, share
from whileai_core.simulation.verbs import words_of_name
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.dimensions import names_a_reference
from whileai_core.traces.faults import fault_of_call
from whileai_core.traces.intake import rows_of

Record = dict[str, Any]
Shapes = Mapping[str, Sequence[Record]]

_GIVEN = ("Mara", "Jonas", "Ines", "Tobias", "Leila", "Owen", "Priya", "Sami", "Noor", "Elif")
_FAMILY = ("Voss", "Okafor", "Lindqvist", "Haddad", "Moreau", "Tanaka", "Reyes", "Novak", "Byrne")
_OPEN_STATUSES = ("open", "active", "confirmed", "pending")
_CURRENCIES = ("EUR", "USD", "GBP")

# Field of a record -> the words in tool and parameter names that suggest it.
_SUGGESTED = {
    "owner": {"owner", "customer", "user", "account", "member", "patient", "guest", "email"},
    "quantity": {"quantity", "stock", "inventory", "items", "seats", "count", "product", "sku"},
    "amount": {
        "amount", "price", "pay", "payment", "refund", "invoice", "order", "charge", "balance",
        "transfer", "transaction", "total", "billing", "booking", "subscription",
    },
    "date": {
        "date", "day", "time", "schedule", "reschedule", "booking", "appointment", "flight",
        "event", "delivery", "reservation", "calendar", "due", "trip", "shipment",
    },
}  # fmt: skip
# An argument of such a name says what was found, not where to look.
_FINDINGS = frozenset({"status", "amount", "quantity", "price", "total", "count", "balance"})

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_DIGIT = re.compile(r"\d")
_PEOPLE = frozenset({"name", "owner", "customer", "author", "assignee", "agent", "contact"})
_SHAPES_PER_TOOL = 3
_LARGEST_SHAPE = 500
_JITTER = 1 / 3
_DEEPEST = 8


class RecordBook:
    """Makes records up. A record depends on its reference, so that all tools show the same.

    Args:
        tools: The tools' schemas; their names suggest what records hold.
        shapes: Results seen in traces, by tool; they serve as templates.

    Attributes:
        tools: Names of the tools.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]], shapes: Shapes | None = None) -> None:
        self.tools = [str(tool.get("name", "")) for tool in tools]
        words = {word for tool in tools for word in _words_of_tool(tool)}
        self._fields = [field for field, hints in _SUGGESTED.items() if hints & words]
        self._shapes = shapes or {}

    def record(self, reference: str) -> Record:
        """Return the record behind a reference, as it is before anything happens to it."""
        record: Record = {
            "id": reference,
            "name": person(reference),
            "status": pick(_OPEN_STATUSES, reference, "status"),
            "updated_at": day(reference, "updated"),
        }
        for field in self._fields:
            record |= _field(field, reference)
        return record

    def seen_through(self, tool: str, record: Record, reference: str) -> Record:
        """Return a record as one tool shows it: in the shape its results had in the traces."""
        shapes = self._shapes.get(tool)
        if not shapes:
            return dict(record)
        shown: Record = _redrawn(shapes[0], reference, "")
        own_id = next((key for key in shown if names_a_reference(key)), "id")
        return {**shown, own_id: record["id"], "status": record["status"]}


def person(*parts: object) -> str:
    """Return a name."""
    return f"{pick(_GIVEN, *parts, 'given')} {pick(_FAMILY, *parts, 'family')}"


def day(*parts: object) -> str:
    """Return a day."""
    drawn = number(*parts)
    return f"2026-{drawn % 12 + 1:02d}-{drawn // 12 % 28 + 1:02d}"


def asserts_a_finding(parameter: str) -> bool:
    """Tell whether an argument states what a record holds, and is therefore not echoed."""
    return not _FINDINGS.isdisjoint(words_of_name(parameter))


def shapes_of(rows: object) -> dict[str, list[Record]]:
    """Return the forms results have in traces: per tool the first few that are no fault."""
    shapes: dict[str, list[Record]] = {}
    for row in rows_of(rows):
        for call in tool_calls(row):
            found = shapes.setdefault(call.tool, [])
            if len(found) < _SHAPES_PER_TOOL and call.answer and fault_of_call(call) is None:
                inner = call.answer.get("data")
                shape = inner if isinstance(inner, dict) else call.answer
                small = 2 < len(jsonio.dumps(shape)) <= _LARGEST_SHAPE
                if small and shape not in found and "matches" not in shape:
                    found.append(shape)
    return {tool: found for tool, found in shapes.items() if found}


def _words_of_tool(tool: Mapping[str, Any]) -> Iterator[str]:
    yield from words_of_name(str(tool.get("name", "")))
    properties = (tool.get("parameters") or {}).get("properties")
    for parameter in properties if isinstance(properties, dict) else ():
        yield from words_of_name(str(parameter))


def _field(field: str, reference: str) -> Record:
    if field == "owner":
        return {"owner": person(reference, "owner")}
    if field == "quantity":
        return {"quantity": number(reference, "quantity") % 9 + 1}
    if field == "amount":
        cents = number(reference, "amount") % 40_000 + 500
        return {"amount": cents / 100, "currency": pick(_CURRENCIES, reference, "currency")}
    return {"date": day(reference, "date")}


def _redrawn(value: Any, reference: str, key: str, depth: int = 0) -> Any:
    """Return a value like the one seen, with dates, people and numbers drawn anew."""
    if depth > _DEEPEST or isinstance(value, bool) or value is None:
        return value
    if isinstance(value, dict):
        return {name: _redrawn(inner, reference, name, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        return [
            _redrawn(inner, reference, f"{key}.{place}", depth + 1)
            for place, inner in enumerate(value)
        ]
    if isinstance(value, int | float):
        factor = 1 + (2 * share(reference, key) - 1) * _JITTER
        return round(value * factor) if isinstance(value, int) else round(value * factor, 2)
    if isinstance(value, str):
        return _redrawn_text(value, reference, key)
    return value


def _redrawn_text(value: str, reference: str, key: str) -> str:
    if _PEOPLE.intersection(words_of_name(key)):
        return person(reference, key)
    if names_a_reference(key):
        places = count()
        return _DIGIT.sub(lambda _: str(number(reference, key, next(places)) % 10), value)
    return _DATE.sub(lambda _: day(reference, key), value)
