"""Quarantine: what could not become a row, kept with source, position, reason and raw text.

::

    <home>/quarantine/<agent>/<night>-<hash>.jsonl

A file is named after its content, so that a repeated run writes the same file. Entries that
become readable after a fix are replayed; the others stay.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.atomic import write_atomic
from whileai_core.dialects.reading import read_items
from whileai_core.errors import SourceNotFound
from whileai_core.sources.items import Ignored, Reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Entry = dict[str, Any]  # {"id", "source", "position", "reason", "detail", "raw"}


@dataclass(frozen=True, slots=True)
class Batch:
    """One quarantine file.

    Attributes:
        name: `<night>-<hash>`, what `show` and `replay` take.
        agent: Whose night it was.
        path: Where it lies.
        reasons: Reason → entries.
    """

    name: str
    agent: str
    path: Path
    reasons: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        entries = sum(self.reasons.values())
        return {
            "name": self.name,
            "agent": self.agent,
            "path": str(self.path),
            "entries": entries,
            "reasons": self.reasons,
        }


class Quarantine:
    """The quarantine files of one home folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "quarantine"

    def keep(self, agent: str, night: str, entries: Iterable[Entry]) -> Path | None:
        """Write the rejects of a night; None when there are none."""
        data = b"".join(jsonio.dumps(entry) + b"\n" for entry in entries)
        if not data:
            return None
        name = f"{night}-{hashlib.sha256(data).hexdigest()[:8]}"
        path = self._folder / _folder_name(agent) / f"{name}.jsonl"
        write_atomic(path, data)
        return path

    def batches(self) -> list[Batch]:
        """Return all quarantine files, oldest night first."""
        paths = sorted(self._folder.glob("*/*.jsonl"), key=lambda path: (path.stem, path.parent))
        return [self._batch(path) for path in paths]

    def find(self, name: str) -> Batch:
        """Return the quarantine file of that name, or of the night that it names.

        Raises:
            SourceNotFound: There is none, or the name fits several.
        """
        fitting = [batch for batch in self.batches() if batch.name.startswith(name)]
        exact = [batch for batch in fitting if batch.name == name]
        if len(exact) == 1 or len(fitting) == 1:
            return (exact or fitting)[0]
        names = ", ".join(batch.name for batch in fitting or self.batches()) or "none"
        raise SourceNotFound(f"no single quarantine file fits {name!r}; there are: {names}")

    def entries(self, batch: Batch) -> Iterator[Entry]:
        """Stream the entries of a quarantine file."""
        with batch.path.open("rb") as file:
            for line in file:
                yield jsonio.loads(line)

    def readable_now(self, batch: Batch) -> list[Entry]:
        """Return the entries that today's dialects read without a reject."""
        return [entry for entry in self.entries(batch) if _reads(entry)]

    def replay_source(self, batch: Batch, entries: Iterable[Entry]) -> Path:
        """Write entries out as a source file for the nightly flow, one raw record a line."""
        data = b"".join(_as_line(entry["raw"]) for entry in entries)
        digest = hashlib.sha256(data).hexdigest()[:8]
        path = (
            self._folder / _folder_name(batch.agent) / "replayed" / f"{batch.name}-{digest}.jsonl"
        )
        write_atomic(path, data)
        return path

    def discharge(self, batch: Batch, entries: Iterable[Entry]) -> None:
        """Take replayed entries out of their file; an empty file goes."""
        gone = {entry["id"] for entry in entries}
        left = [entry for entry in self.entries(batch) if entry["id"] not in gone]
        if left:
            write_atomic(batch.path, b"".join(jsonio.dumps(entry) + b"\n" for entry in left))
        else:
            batch.path.unlink(missing_ok=True)

    def _batch(self, path: Path) -> Batch:
        reasons: dict[str, int] = {}
        with path.open("rb") as file:
            for line in file:
                reason = jsonio.loads(line)["reason"]
                reasons[reason] = reasons.get(reason, 0) + 1
        return Batch(path.stem, path.parent.name, path, reasons)


def _reads(entry: Entry) -> bool:
    items = list(read_items(entry["raw"].encode("utf-8", "surrogatepass")))
    return bool(items) and not any(isinstance(item, Reject | Ignored) for item in items)


def _as_line(raw: str) -> bytes:
    """Bring one readable record to one line, so that a pretty-printed one does not fall apart."""
    return jsonio.dumps(jsonio.loads(raw)) + b"\n"


def _folder_name(agent: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", agent) or "_"
