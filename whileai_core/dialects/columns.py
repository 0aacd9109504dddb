"""Tables written by column, as data frames write themselves to JSON, to records."""

from __future__ import annotations

from typing import Any


def records_of_columns(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the rows of a table written by column; None when the object is none.

    Both forms are read: `{column: {row number: cell}}`, and `{columns, index, data}` with the
    cells of each row in a list.
    """
    first = next(iter(value.values()), None)
    if type(first) is dict:
        return _by_number(value, first)
    if "columns" in value and value.keys() == {"columns", "index", "data"}:
        return _by_place(value["columns"], value["data"])
    return None


def _by_number(value: dict[str, Any], first: dict[str, Any]) -> list[dict[str, Any]] | None:
    numbers = first.keys()
    if len(value) < 2 or not numbers or not all(map(str.isdecimal, numbers)):
        return None
    if any(type(cells) is not dict or cells.keys() != numbers for cells in value.values()):
        return None
    return [{column: cells[number] for column, cells in value.items()} for number in numbers]


def _by_place(columns: Any, data: Any) -> list[dict[str, Any]] | None:
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(column, str) for column in columns):
        return None
    if any(not isinstance(cells, list) or len(cells) != len(columns) for cells in data):
        return None
    return [dict(zip(columns, cells, strict=True)) for cells in data]
