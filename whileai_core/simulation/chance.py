"""Draws that depend on nothing but what they are given: the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")

_RANGE = 1 << 64


def number(*parts: object) -> int:
    """Return a whole number below 2**64 that is a hash of `parts`."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def share(*parts: object) -> float:
    """Return a number in [0, 1) that is a hash of `parts`."""
    return number(*parts) / _RANGE


def pick(options: Sequence[T], *parts: object) -> T:
    """Return one of `options`, by a hash of `parts`."""
    return options[number(*parts) % len(options)]


def token(length: int, *parts: object) -> str:
    """Return `length` (at most 16) hex digits that are a hash of `parts`."""
    return f"{number(*parts):016x}"[:length]


def weighted_key(weight: float, *parts: object) -> float:
    """Return a key; the largest keys of a set are a weighted draw without replacement.

    Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006.
    """
    return float((share(*parts) or 1 / _RANGE) ** (1 / weight))
