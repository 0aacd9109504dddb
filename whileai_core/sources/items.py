"""What comes out of a source: records that parsed, pieces that did not, and where they stood."""

from __future__ import annotations

from typing import Any, NamedTuple


class Origin(NamedTuple):
    """Where a piece of input stood.

    Attributes:
        source: Path, URL or `<memory>`; of an archive member, `archive!member`.
        position: `line 12`, `item 3`, `batch 2` …; empty when the source is one record.
    """

    source: str
    position: str = ""


class Record(NamedTuple):
    """One parsed JSON value, not yet understood.

    Attributes:
        text: What it was parsed from, where that is at hand; reading may change `value`.
    """

    value: Any
    origin: Origin
    text: bytes = b""


class Reject(NamedTuple):
    """A piece of input that cannot become a row; it goes to quarantine.

    Attributes:
        reason: Short machine name: `not_json`, `not_an_object`, `no_signal`, `too_deep` …
        detail: One sentence for a person.
        raw: The piece itself as text (bytes that are no UTF-8 are backslash-escaped).
    """

    reason: str
    detail: str
    origin: Origin
    raw: str


class Ignored(NamedTuple):
    """Input that is left out on purpose: a span of plumbing, a summary line, an empty file."""

    reason: str
    origin: Origin
    n: int = 1
