"""Ids of traces and spans, in every spelling producers use, to one form."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_HEX = re.compile(r"[0-9a-f]+")
_TRACE_BYTES = 16
_SPAN_BYTES = 8
# Lower-case hex and not all zeros, which means "none".
_usual_trace_id = re.compile(r"(?!0+$)[0-9a-f]{32}").fullmatch
_usual_span_id = re.compile(r"(?!0+$)[0-9a-f]{16}").fullmatch


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


def are_usual_span_ids(values: Collection[str]) -> bool:
    """Tell whether all of some texts are what `span_id` returns for them."""
    joined = "".join(values)
    return (
        set(map(len, values)) == {2 * _SPAN_BYTES}
        and _HEX.fullmatch(joined) is not None
        and "0" * 2 * _SPAN_BYTES not in values
    )


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
            decoded = base64.b64decode(text, b"-_" if "-" in text or "_" in text else None, True)
        except (binascii.Error, ValueError):
            return text
        if len(decoded) == size:
            return decoded.hex()
    if text.isascii() and text.isdigit() and 2 * size <= len(text) <= 39:
        number = int(text)
        if len(text) > 2 * size and number < 1 << (8 * size):
            return f"{number:0{2 * size}x}"
    return text
