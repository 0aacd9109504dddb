"""Values of other libraries in memory, as JSON has them: arrays, models, dataclasses."""

from __future__ import annotations

import dataclasses
from typing import Any

_SCALARS = frozenset({str, int, float, bool, type(None)})
_ITEMS = frozenset({dict, *_SCALARS})


def plain_values(row: dict[str, Any]) -> None:
    """Make the values of a row plain, in place, and the items of lists in it.

    Tables hand out arrays for lists; clients keep the messages of a model as objects. Values that
    are plain already are not copied.
    """
    for key, value in row.items():
        kind = type(value)
        if kind in _ITEMS or (kind is list and _ITEMS.issuperset(map(type, value))):
            continue
        row[key] = plain(value)


def plain(value: Any) -> Any:
    """Return a value with everything in it that has a plain form in that form."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if callable(dump := getattr(value, "model_dump", None)):  # pydantic
        return plain(dump())
    if callable(listed := getattr(value, "tolist", None)):  # numpy, pandas
        return plain(listed())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(vars(value))
    return value
