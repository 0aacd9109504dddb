"""Ids and times, in every spelling producers use, to one form."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime

_HEX = re.compile(r"[0-9a-f]+")
_TRACE_BYTES = 16
_SPAN_BYTES = 8
# Lower-case hex and not all zeros, which means "none".
_usual_trace_id = re.compile(r"(?!0+$)[0-9a-f]{32}").fullmatch
_usual_span_id = re.compile(r"(?!0+$)[0-9a-f]{16}").fullmatch
_FRACTION = re.compile(r"\.(\d{1,9})\d*")

# Magnitudes that tell the unit of a bare number: dates from 2001 on, in each unit.
_NANOSECONDS_FROM = 10**17
_MICROSECONDS_FROM = 10**14
_MILLISECONDS_FROM = 10**11
_SECONDS_FROM = 10**9


def trace_id(value: object) -> str:
    """Return a trace id as 32 lower-case hex digits, or the producer's text if it is no such id."""
    if type(value) is str and _usual_trace_id(value):
        return value
    return _identifier(value, _TRACE_BYTES)


def span_id(value: object) -> str:
    """Return a span id as 16 lower-case hex digits, or the producer's text if it is no such id."""
    if type(value) is str and _usual_span_id(value):
        return value
    return _identifier(value, _SPAN_BYTES)


def _identifier(value: object, size: int) -> str:
    if type(value) is str:
        return _text_identifier(value.strip(), size)
    if type(value) is int:
        return f"{value:0{2 * size}x}" if 0 < value < 1 << (8 * size) else ""
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if type(value) is float and value > 0 and value - value == 0:
        # A reader that knows only doubles has already cut the id: still one spelling for all.
        return f"{int(value):0{2 * size}x}"
    return ""


def _text_identifier(text: str, size: int) -> str:
    lower = text.lower()
    plain = lower.removeprefix("0x")
    if len(plain) == 2 * size and _HEX.fullmatch(plain):
        return plain if plain.strip("0") else ""
    if lower.startswith("0x") and len(plain) < 2 * size and _HEX.fullmatch(plain):
        return plain.zfill(2 * size)
    if size == _TRACE_BYTES and len(lower) == 36 and lower.count("-") == 4:
        compact = lower.replace("-", "")
        if len(compact) == 32 and _HEX.fullmatch(compact):
            return compact
    if len(text) == (24 if size == _TRACE_BYTES else 12) and text.endswith("="):
        try:
            decoded = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return text
        if len(decoded) == size:
            return decoded.hex()
    if text.isascii() and text.isdigit() and 2 * size <= len(text) <= 39:
        number = int(text)
        if len(text) > 2 * size and number < 1 << (8 * size):
            return f"{number:0{2 * size}x}"
    return text


def nanoseconds(value: object) -> int:
    """Return a point in time in nanoseconds; 0 when it cannot be read.

    Whole numbers and their texts are taken as nanoseconds, as OTLP writes them.
    """
    if type(value) is str:
        try:
            return int(value)
        except ValueError:
            return instant(value)
    if type(value) is int:
        return value
    return instant(value)


def instant(value: object) -> int:
    """Return a point in time of unknown unit in nanoseconds; 0 when it cannot be read.

    Reads ISO 8601 texts (no zone means UTC), `[seconds, nanoseconds]` pairs, objects with
    those two fields, date-times, and numbers whose magnitude tells seconds, milliseconds,
    microseconds or nanoseconds apart. Small numbers are taken as nanoseconds.
    """
    if isinstance(value, bool) or value is None:
        return 0
    if isinstance(value, int):
        return _scaled(value)
    if isinstance(value, float):
        return _scaled_fraction(value)
    if isinstance(value, str):
        return _text_instant(value.strip())
    if isinstance(value, datetime):
        return _datetime_ns(value)
    if isinstance(value, dict):
        value = [value.get("seconds"), value.get("nanos", 0)]
    if isinstance(value, list | tuple) and len(value) == 2:
        try:
            return int(value[0]) * 10**9 + int(value[1])
        except (TypeError, ValueError, OverflowError):
            return 0
    return 0


def _scaled(number: int) -> int:
    if number >= _NANOSECONDS_FROM or number < _SECONDS_FROM:
        return number
    if number >= _MICROSECONDS_FROM:
        return number * 1000
    if number >= _MILLISECONDS_FROM:
        return number * 10**6
    return number * 10**9


def _scaled_fraction(number: float) -> int:
    if number - number != 0:
        return 0
    whole = int(number)
    if whole == number or whole >= _NANOSECONDS_FROM or whole < _SECONDS_FROM:
        return _scaled(whole)
    # Microseconds are as fine as a double of this size gets.
    for start, per_unit in ((_MICROSECONDS_FROM, 1), (_MILLISECONDS_FROM, 1000)):
        if whole >= start:
            return round(number * per_unit) * 1000
    return round(number * 10**6) * 1000


def _text_instant(text: str) -> int:
    if not text:
        return 0
    try:
        return _scaled(int(text))
    except ValueError:
        pass
    fraction = _FRACTION.search(text)
    try:
        whole = _datetime_ns(datetime.fromisoformat(_FRACTION.sub("", text)))
        return whole + (int(fraction[1].ljust(9, "0")) if fraction else 0)
    except ValueError:
        pass
    try:
        return _scaled_fraction(float(text))
    except ValueError:
        return 0


def _datetime_ns(value: datetime) -> int:
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return ((since.days * 86400 + since.seconds) * 10**6 + since.microseconds) * 1000
