"""The one place that turns bytes into JSON values and back.

orjson does the work. It refuses NaN, infinities and lone surrogates and reads integers past
64 bits as floats without a word; such texts go through the standard library instead, so that
both parsers give the same value (see `loads`).
"""

from __future__ import annotations

import json
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
