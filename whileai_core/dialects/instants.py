"""Points in time, in every spelling producers use, to nanoseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from whileai_core.sources.otlp import joined_halves

_FRACTION = re.compile(r"\.(\d{1,9})\d*")

# Magnitudes that tell the unit of a bare number: dates from 2001 on, in each unit.
_NANOSECONDS_FROM = 10**17
_MICROSECONDS_FROM = 10**14
_MILLISECONDS_FROM = 10**11
_SECONDS_FROM = 10**9


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
    those two fields, halves of a 64-bit number (`low`, `high`), date-times, and numbers whose
    magnitude tells seconds, milliseconds, microseconds or nanoseconds apart. Small numbers are
    taken as nanoseconds.
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
        whole = joined_halves(value)
        if whole is not None:
            return _scaled(whole)
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
