"""How much of one source is read, so that none can fill the memory."""

from __future__ import annotations

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of reading one source; what goes beyond becomes a reject.

    Attributes:
        record_bytes: Longest line, document or archive member that is parsed as one piece.
        unpacked_bytes: Most that a compressed source or an archive may unpack to.
    """

    record_bytes: int = 512 * _MIB
    unpacked_bytes: int = 32 * 1024 * _MIB


DEFAULT_LIMITS = Limits()
# A reject carries the piece itself, so that it can be read again, but not without end.
RAW_CHARACTERS = 16 * _MIB


def raw_text(data: bytes) -> str:
    """Return bytes as the text of a reject: what is no UTF-8 is backslash-escaped."""
    return cut(data[: RAW_CHARACTERS * 4].decode("utf-8", "backslashreplace"))


def cut(text: str) -> str:
    """Return the text of a reject, shortened if it is very long."""
    return text if len(text) <= RAW_CHARACTERS else text[:RAW_CHARACTERS] + "…"
