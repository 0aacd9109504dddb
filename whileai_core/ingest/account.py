"""The account of an intake: what came in and where it went, per source and in all.

A *record* is one conversation as a source holds it: a JSONL line, an item of an array, a sample
of an eval log, a session file, or the spans of one conversation. A piece that cannot be read is
a record too. Every record ends in exactly one place::

    records = rows + duplicates + quarantined + ignored

`records` is counted where a source is read, the four outcomes where they are decided, so the
sum is a check and no tautology.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Tally:
    """Counts of one source (or of all, when merged).

    Attributes:
        records: Conversations and unreadable pieces found.
        rows: Records that became a row of this night (new ones and revisions).
        duplicates: Records whose content is known already.
        quarantined: Records kept aside with a reason.
        ignored: Records left out on purpose.
        revisions: Those of `rows` that replace a row of an earlier night.
        spans: Spans read.
        spans_repeated: Spans delivered more than once, counted once.
        spans_without_content: Spans of plumbing that carry nothing of a conversation.
        dialects: Records by the dialect they were read as.
        reasons: Why records were quarantined or ignored, `outcome:reason` → records.
        unmapped: Span attributes seen but not read → spans.
        redacted: Kinds of secrets and personal data → replacements.
    """

    records: int = 0
    rows: int = 0
    duplicates: int = 0
    quarantined: int = 0
    ignored: int = 0
    revisions: int = 0
    spans: int = 0
    spans_repeated: int = 0
    spans_without_content: int = 0
    dialects: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    unmapped: Counter[str] = field(default_factory=Counter)
    redacted: Counter[str] = field(default_factory=Counter)

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally to this one."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(mine, Counter):
                mine.update(value)
            else:
                setattr(self, name, mine + value)

    def quarantine(self, reason: str) -> None:
        """Count one record that goes to quarantine."""
        self.quarantined += 1
        self.reasons[f"quarantined:{reason}"] += 1

    @property
    def balanced(self) -> bool:
        """Whether every record ended in exactly one place."""
        return self.records == self.rows + self.duplicates + self.quarantined + self.ignored

    def to_dict(self) -> dict[str, Any]:
        """Return the counts as a JSON object; counters sorted by name."""
        return {
            name: dict(sorted(value.items())) if isinstance(value, Counter) else value
            for name, value in vars(self).items()
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Tally:
        """Read back what `to_dict` gave."""
        tally = cls()
        for name, old in vars(tally).items():
            if name in value:
                setattr(
                    tally, name, Counter(value[name]) if isinstance(old, Counter) else value[name]
                )
        return tally


@dataclass
class Account:
    """The tallies of all sources of one intake."""

    sources: dict[str, Tally] = field(default_factory=dict)

    def of(self, source: str) -> Tally:
        """Return the tally of one source, made on first use."""
        return self.sources.setdefault(source, Tally())

    def merge(self, other: Account) -> None:
        """Add another account to this one, source by source."""
        for source, tally in other.sources.items():
            self.of(source).merge(tally)

    @property
    def total(self) -> Tally:
        """The sum over all sources."""
        total = Tally()
        for tally in self.sources.values():
            total.merge(tally)
        return total

    def to_dict(self) -> dict[str, Any]:
        """Return the total and, under `sources`, each source's own counts."""
        sources = {name: tally.to_dict() for name, tally in sorted(self.sources.items())}
        return {**self.total.to_dict(), "sources": sources}

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Account:
        """Read back what `to_dict` gave."""
        return cls({name: Tally.from_dict(tally) for name, tally in value["sources"].items()})
