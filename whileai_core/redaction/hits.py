"""What a detector reports, and who wins where two report the same characters."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

# Behind the first character of a value: no word character stands before it, or the end of an
# escape such as `\n` in raw JSON. The expressions begin with that character, not with a look
# behind, because `re` skips quickly to a set of characters and slowly to anything else.
FIRST = r"(?:(?<!\w.)|(?<=\\[nrtbf].))"

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_WORDS = bytes(
    ord("w") if chr(code).isascii() and (chr(code).isalnum() or chr(code) in "_-") else 32
    for code in range(256)
)


_RUN = b"w" * 15  # every provider's token has so many in a row
_IN_FRONT = 64  # as far as the host of a webhook stands before its token


class Shape:
    """The outline of a text, to see at once which detectors have nothing to look for.

    Attributes:
        digits: The text in UTF-8 with `0` for every digit.
        tokens: Only the long runs of ASCII letters, digits, `_` and `-`, each with a few bytes
            in front: where the tokens of providers must be.
    """

    def __init__(self, text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        self.digits = raw.translate(_DIGITS)
        words = raw.translate(_WORDS)
        runs = []
        start = words.find(_RUN)
        while start >= 0:
            end = words.find(b" ", start)
            end = len(words) if end < 0 else end
            runs.append(raw[max(0, start - _IN_FRONT) : end])
            start = words.find(_RUN, end)
        self.tokens = b" ".join(runs)


class Hit(NamedTuple):
    """Characters to replace.

    Attributes:
        kind: One of `KINDS`.
        value: What the stand-in is made from.
        form: Of a secret: `api-key`, `jwt`, `private-key` or `credential`.
        country_digits: Of a phone number: how many digits in front are the country code.
    """

    start: int
    end: int
    kind: str
    value: str
    form: str = ""
    country_digits: int = 0


class Claims:
    """Accepted hits; a later one that touches an earlier one is dropped."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []
        self.hits: list[Hit] = []

    def reserve(self, start: int, end: int) -> bool:
        """Take a span if all of it is free."""
        place = bisect_left(self._spans, (start, end))
        if place < len(self._spans) and self._spans[place][0] < end:
            return False
        if place and self._spans[place - 1][1] > start:
            return False
        self._spans.insert(place, (start, end))
        return True

    def add(self, hits: Iterable[Hit]) -> None:
        """Accept those hits whose characters are free."""
        self.hits += [hit for hit in hits if self.reserve(hit.start, hit.end)]
