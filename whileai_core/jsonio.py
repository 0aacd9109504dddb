"""The one place that turns bytes into JSON values and back.

orjson does the work. It refuses NaN, infinities and lone surrogates and reads integers past
64 bits as floats without a word; such texts go through the standard library instead, so that
both parsers give the same value (see `loads`).
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# Digits that can spell an integer past 64 bits (19 digits suffice below zero).
_LONG_DIGITS = re.compile(rb"\d{20}|-\d{19}")
_DIGITS_TO_ZERO = bytes.maketrans(b"123456789-", b"0" * 10)
_LONG_RUN = b"0" * 20
# The last three end an escaped line break or tab, in JSON text inside a JSON string.
_BEFORE_NUMBERS = (b"", b" ", b"\t", b"\r", b"\n", b",", b":", b"[", b"n", b"r", b"t")
_REST_OF_RUN = re.compile(rb"0*")
# From about this size on numpy is quicker by more than its import costs in the end.
_WORTH_NUMPY = 8 * 1024

_DECODER = json.JSONDecoder()
_BETWEEN_VALUES = re.compile(r"[\s,\x1e]*")

# orjson's parser itself, for bytes that `has_long_integers` has cleared.
loads_exact = orjson.loads

TOO_DEEP = "nested too deep"


def loads(data: bytes | str) -> Any:
    """Parse one JSON text; integers of any size stay integers, NaN and Infinity are read.

    Of a key given twice the last value counts. Bytes are UTF-8.

    Raises:
        ValueError: The text is not JSON, or is nested too deep to read (`TOO_DEEP`).
    """
    try:
        return loads_strict(data)
    except orjson.JSONDecodeError:
        return _loads_slowly(data)


def loads_strict(data: bytes | str) -> Any:
    """Parse one text that is JSON by the letter: no NaN, infinities or lone surrogates.

    Raises:
        ValueError: The text is not strict JSON, or is nested too deep to read.
    """
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if "ecursion" in str(error):
            raise ValueError(TOO_DEEP) from None
        raise
    if len(data) >= len(_LONG_RUN) and has_long_integers(data):
        return _loads_slowly(data)
    return value


def has_long_integers(data: bytes | str) -> bool:
    """Tell whether a text may spell an integer that orjson would read as a float."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    # Most texts hold no run of digits that comes near; those that do are searched for it.
    return _may_hold_long_run(data) and _starts_long_number(data)


def _starts_long_number(data: bytes) -> bool:
    """Tell whether a long run of digits stands where a number can; hex ids hold such runs too."""
    digits = data.translate(_DIGITS_TO_ZERO)
    at = digits.find(_LONG_RUN)
    while at >= 0:
        if data[at - 1 : at] in _BEFORE_NUMBERS and _LONG_DIGITS.match(data, at):
            return True
        run = _REST_OF_RUN.match(digits, at)
        at = digits.find(_LONG_RUN, run.end() if run else len(digits))
    return False


def _may_hold_long_run(data: bytes) -> bool:
    """Tell quickly that a text holds no run of 19 digits; a few without one pass too."""
    if len(data) < _WORTH_NUMPY:
        # Of any such run every fifth byte shows four; a minus sign counts as a digit.
        return b"0000" in data[::5].translate(_DIGITS_TO_ZERO)
    import numpy as np

    # Of any such run four aligned words of four bytes are digits; their upper halves are all 3.
    words = np.frombuffer(data, np.uint32, len(data) // 4)
    digits = (words & 0xF0F0F0F0) == 0x30303030
    pairs = digits[1:] & digits[:-1]
    return bool((pairs[2:] & pairs[:-2]).any())


def scan(text: str, start: int = 0) -> Iterator[tuple[Any, int, int]]:
    """Yield the values that stand one after the other, each with its start and end.

    White space, commas and record separators may stand between them. Ends before the first
    thing that is no value.
    """
    while True:
        match = _BETWEEN_VALUES.match(text, start)
        start = match.end() if match else start
        if start == len(text):
            return
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            return
        yield value, start, end
        start = end


def _loads_slowly(data: bytes | str) -> Any:
    try:
        return json.loads(data if isinstance(data, str) else data.decode("utf-8"))
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def strict(value: Any) -> Any:
    """Return a copy that is strict JSON: NaN and infinities as null, lone surrogates as U+FFFD.

    A value that is strict already comes back as it is.

    Raises:
        ValueError: The value is nested too deep to clean (`TOO_DEEP`).
    """
    if _not_json(value) is None:
        return value
    try:
        return _cleaned(value)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _cleaned(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_cleaned(str(key)): _cleaned(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(child) for child in value]
    if value is None or isinstance(value, int):
        return value
    listed = getattr(value, "tolist", None)  # a number or a list of numpy
    return _cleaned(listed()) if callable(listed) else str(value)


def textual(value: Any) -> Any:
    """Return a copy in which dates, sets, bytes and whatever else is no JSON stand as text.

    Keys become text too. NaN, infinities and lone surrogates stay as they are: for them there is
    no text that reads back as what it was. Sets are sorted, so that equal ones give equal text.

    Raises:
        ValueError: The value is nested too deep (`TOO_DEEP`).
    """
    try:
        return _textual(value)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def _textual(value: Any) -> Any:
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, dict):
        return {_key_text(key): _textual(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_textual(child) for child in value]
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(repr, value))) + "}"
    return str(value)


def _key_text(key: object) -> str:
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key)


def text(value: object) -> str:
    """Write one value as JSON text, spaced as the standard library spaces it.

    Raises:
        ValueError: The value is nested too deep (`TOO_DEEP`), or holds itself.
    """
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        raise ValueError(TOO_DEEP) from None


def pretty(value: object) -> str:
    """Write one value as indented JSON text for a person to read."""
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)


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
    # orjson writes NaN and infinities as null.
    if not line or (b"null" in line and not _is_finite(value)):
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


def _is_finite(value: object) -> bool:
    """Tell whether a value that orjson could write holds no NaN and no infinity."""
    if isinstance(value, dict):
        parts: Iterable[object] = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    else:
        return not isinstance(value, float) or math.isfinite(value)
    for part in parts:
        kind = type(part)
        if kind is not str and kind is not int and part is not None and not _is_finite(part):
            return False
    return True


def _not_json(value: object) -> str | None:
    """Name the first part of a value that JSON cannot carry, with its path."""
    pending: list[tuple[str, object]] = [("$", value)]
    seen: set[int] = set()  # containers, of which one may hold itself
    while pending:
        path, part = pending.pop()
        if isinstance(part, dict | list | tuple):
            if id(part) in seen:
                continue
            seen.add(id(part))
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
