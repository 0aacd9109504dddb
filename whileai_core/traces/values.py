"""Any value as text, whatever its depth or size: nothing here raises.

`json_text` keeps the spelling of `json.dumps` with its defaults (a space after separators,
ASCII escapes), because substring searches over it are part of the trace semantics.
"""

from __future__ import annotations

import json
from typing import Any

_encode = json.JSONEncoder(default=str, check_circular=False).encode


def json_text(value: object) -> str:
    """Return the JSON text of `value`, or its leaves in order when JSON cannot carry it."""
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return _leaves(value)


def plain_text(value: object) -> str:
    """Return `str(value)`; None is the empty text."""
    if value is None:
        return ""
    if type(value) is str:
        return value
    try:
        return str(value)
    except ValueError:  # integers past the interpreter's limit for decimal digits
        return hex(value) if isinstance(value, int) else ""
    except RecursionError:
        return _leaves(value)


def _leaves(value: object) -> str:
    """Join keys and scalars in document order without recursion; shared parts count once."""
    texts: list[str] = []
    seen: set[int] = set()
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict | list | tuple):
            if id(item) in seen:
                continue
            seen.add(id(item))
            parts = (
                [part for pair in item.items() for part in pair]
                if isinstance(item, dict)
                else list(item)
            )
            stack.extend(reversed(parts))
        else:
            texts.append(plain_text(item))
    return " ".join(texts)
