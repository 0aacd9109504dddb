"""The one place that turns bytes into JSON values and back.

orjson does the work. It refuses NaN, infinities and lone surrogates and reads integers past
64 bits as floats without a word; such texts go through the standard library instead, so that
both parsers give the same value (see `loads`).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

_LONG_DIGITS = re.compile(rb"\d{19}")


def loads(data: bytes | str) -> Any:
    """Parse one JSON text; integers of any size stay integers, NaN and Infinity are read.

    Raises:
        ValueError: The text is not JSON, or is nested too deep to read.
    """
    raw = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    if _LONG_DIGITS.search(raw) is None:
        try:
            return orjson.loads(raw)
        except orjson.JSONDecodeError:
            pass
    try:
        return json.loads(raw)
    except RecursionError:
        raise ValueError("nested too deep") from None


def dumps(value: object) -> bytes:
    """Write one value as compact, strict JSON in UTF-8.

    Raises:
        TypeError: The value holds something JSON cannot carry.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        # Integers past 64 bits: valid JSON that orjson declines.
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8")


def canonical(value: object) -> bytes:
    """Write one value as compact JSON with sorted keys: equal values, equal bytes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True)
        return text.encode("ascii")


def dumps_line(value: object) -> bytes:
    """Write one value as a strict JSON Lines record: what reads back is what was given.

    Tuples become lists. U+0085, U+2028 and U+2029 are written as escapes, because some
    readers take them for the end of a line.

    Raises:
        ValueError: Something in the value is not JSON; the message gives its path.
    """
    try:
        line = orjson.dumps(value, option=_STRICT_LINE)
    except TypeError:
        line = b""
    if not line or b"null" in line:  # orjson writes NaN and infinities as null
        problem = _not_json(value)
        if problem is not None:
            raise ValueError(problem)
    if not line:  # JSON that orjson declines: integers past 64 bits, deep nesting
        try:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        except RecursionError:
            raise ValueError("$ is nested too deep") from None
        line = text.encode("utf-8") + b"\n"
    if b"\xe2\x80" in line or b"\xc2\x85" in line:
        for raw, escaped in _LINE_BREAKS:
            line = line.replace(raw, escaped)
    return line


_STRICT_LINE = (
    orjson.OPT_APPEND_NEWLINE | orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS
)
_LINE_BREAKS = (
    ("\u0085".encode(), b"\\u0085"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def _not_json(value: object) -> str | None:
    """Name the first part of a value that JSON cannot carry, with its path."""
    pending: list[tuple[str, object]] = [("$", value)]
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict):
            for key, child in part.items():
                if not isinstance(key, str) or not _is_unicode(key):
                    return f"{path} has the key {key!r}; JSON keys are text"
                pending.append((f"{path}.{key}", child))
        elif isinstance(part, list | tuple):
            pending.extend((f"{path}[{index}]", child) for index, child in enumerate(part))
        elif (problem := _not_json_leaf(part)) is not None:
            return f"{path} {problem}"
    return None


def _not_json_leaf(leaf: object) -> str | None:
    if isinstance(leaf, str):
        return None if _is_unicode(leaf) else "holds a lone surrogate, which UTF-8 cannot carry"
    if isinstance(leaf, float):
        return None if math.isfinite(leaf) else f"is {leaf}, which JSON cannot carry"
    if leaf is None or isinstance(leaf, int):
        return None
    return f"is a {type(leaf).__name__}, which JSON cannot carry"


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
