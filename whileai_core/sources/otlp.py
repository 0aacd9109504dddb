"""Attribute values of OTLP/JSON, to plain ones."""

from __future__ import annotations

from typing import Any

from whileai_core import jsonio

MAX_DEPTH = 200
"""Values nested deeper are kept as text: no reader below needs them as structure."""

_TEXT = frozenset({str})
_SCALARS = frozenset({"stringValue", "string_value", "boolValue", "bool_value"})
_INTS = frozenset({"intValue", "int_value"})
_DOUBLES = frozenset({"doubleValue", "double_value"})
_ARRAYS = frozenset({"arrayValue", "array_value"})
_MAPS = frozenset({"kvlistValue", "kvlist_value"})
_BYTES = frozenset({"bytesValue", "bytes_value"})
_WRAPPERS = _SCALARS | _INTS | _DOUBLES | _ARRAYS | _MAPS | _BYTES

Attributes = dict[str, Any]


def attributes_of(raw: object) -> Attributes:
    """Return attributes as a plain object, from a `{key, value}` list or from an object.

    Entries that are neither are passed over. An empty value in a list means "not set".
    """
    if type(raw) is list:
        out: Attributes = {}
        for entry in raw:
            try:
                value = entry["value"]
                out[entry["key"]] = (
                    value["stringValue"] if "stringValue" in value else listed_value(value)
                )
            except (TypeError, KeyError, IndexError):
                _take_odd_entry(entry, out)
        if not {*map(type, out)} <= _TEXT:  # a name that is none, as null
            return {key: value for key, value in out.items() if type(key) is str}
        return out
    if isinstance(raw, dict):
        return {str(key): any_value(value) for key, value in raw.items()}
    return {}


def listed_value(value: Any) -> Any:
    """Return the plain value of a `{key, value}` entry; an empty one means "not set"."""
    if "intValue" in value:
        return _int(value["intValue"])
    return any_value(value) if value else None


def _take_odd_entry(entry: Any, out: Attributes) -> None:
    """Take an entry whose value is no wrapper, as flat exports have them."""
    if not isinstance(entry, dict):
        return
    if isinstance(entry.get("key"), str) and "value" in entry:
        out[entry["key"]] = any_value(entry["value"])
    elif isinstance(entry.get("Key"), str) and isinstance(entry.get("Value"), dict):
        out[entry["Key"]] = any_value(entry["Value"].get("Value"))  # as Go prints it


class _TooDeep(Exception):
    """A structure goes deeper than `MAX_DEPTH`."""


def any_value(value: Any) -> Any:
    """Return the plain value behind an OTLP `AnyValue`, at any level of a structure.

    Objects that are no such wrapper stay objects. Numbers that JSON cannot hold become text, and
    so does the whole value when it is nested deeper than `MAX_DEPTH`.
    """
    try:
        return _plain(value, 0)
    except _TooDeep:
        return nested_text(value)


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        return value if value - value == 0 else _non_finite(value)
    if depth > MAX_DEPTH:
        raise _TooDeep
    if isinstance(value, dict):
        if len(value) == 1:
            (name, inner), *_ = value.items()
            if name in _WRAPPERS:
                return _unwrapped(name, inner, depth)
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, str | int | float):
        return value
    return str(value)


def _unwrapped(name: str, inner: Any, depth: int) -> Any:
    if name in _SCALARS:
        return _plain(inner, depth + 1)
    if name in _INTS:
        return _int(inner)
    if name in _DOUBLES:
        return double_value(inner)
    if name in _BYTES:
        return inner if isinstance(inner, str) else str(inner)
    values = inner.get("values") if isinstance(inner, dict) else inner
    if not isinstance(values, list):
        return [] if name in _ARRAYS else {}
    if name in _ARRAYS:
        return [_plain(item, depth + 1) if item != {} else None for item in values]
    return {
        str(item["key"]): _plain(item["value"], depth + 1) if item.get("value") else None
        for item in values
        if isinstance(item, dict) and "key" in item
    }


def joined_halves(value: Any) -> int | None:
    """Return the 64-bit integer that JavaScript writes as `{"low", "high"}`, else None."""
    if not isinstance(value, dict) or not {"low", "high"} <= value.keys():
        return None
    low, high = value["low"], value["high"]
    if type(low) is not int or type(high) is not int:
        return None
    return (high << 32) + (low & 0xFFFFFFFF)


def _int(inner: Any) -> Any:
    if type(inner) is dict and (whole := joined_halves(inner)) is not None:
        return whole
    try:
        return int(inner)
    except (TypeError, ValueError, OverflowError):
        return inner if isinstance(inner, str) else str(inner)


def double_value(inner: Any) -> Any:
    """Return a number, as text when JSON cannot hold it."""
    try:
        number = float(inner)
    except (TypeError, ValueError):
        return inner if isinstance(inner, str) else str(inner)
    return number if number - number == 0 else _non_finite(number)


def _non_finite(number: float) -> str:
    return "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"


def nested_text(value: object) -> str:
    """Return a structure of any depth as compact JSON text, without recursion."""
    pieces: list[str] = []
    todo: list[tuple[bool, object]] = [(False, value)]
    while todo:
        literal, item = todo.pop()
        if literal:
            pieces.append(str(item))
        elif isinstance(item, dict):
            todo.append((True, "}"))
            for index, (key, inner) in enumerate(reversed(item.items())):
                lead = "," if index < len(item) - 1 else ""
                todo += [(False, inner), (True, f"{lead}{_scalar_text(str(key))}:")]
            todo.append((True, "{"))
        elif isinstance(item, list | tuple):
            todo.append((True, "]"))
            for index, inner in enumerate(reversed(item)):
                todo += [(False, inner), (True, "," if index < len(item) - 1 else "")]
            todo.append((True, "["))
        else:
            pieces.append(_scalar_text(item))
    return "".join(pieces)


def _scalar_text(value: object) -> str:
    try:
        return jsonio.dumps(value).decode("utf-8")
    except (TypeError, ValueError):
        return jsonio.dumps(str(value).encode("utf-8", "replace").decode("utf-8")).decode("utf-8")
