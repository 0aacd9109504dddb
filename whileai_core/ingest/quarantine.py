"""Quarantine: what could not become a row, kept with source, position, reason and raw text.

::

    <home>/quarantine/<agent>/<night>-<hash>.jsonl

or below the store instead of the home folder, where that is shared between machines. A file is
named after its content, so that a repeated run writes the same file. Entries that become readable
after a fix are replayed; the others stay. Of a file that was rejected as a whole the entry holds
no more than the beginning, so that the file itself is read again.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.blobs import Blobs
from whileai_core.dialects.reading import RowItem, SpanItem, file_items, read_items
from whileai_core.errors import InputError, MissingExtra, SourceNotFound
from whileai_core.ingest.sharing import is_shared
from whileai_core.sources.items import Ignored, Reject

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.settings import Settings

_ROOT = "quarantine"
_BATCH = re.compile(rf"{_ROOT}/[^/]+/[^/]+\.jsonl")  # and not what lies in `replayed`

# {"agent", "redacted", "id", "source", "position", "reason", "detail", "raw"}
Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """One quarantine file.

    Attributes:
        name: `<night>-<hash>`, what `show` and `replay` take.
        agent: Whose night it was.
        path: Where it lies, a path or a URL.
        reasons: Reason → entries.
        redacted: Whether that night redacted, and a replay has to.
    """

    name: str
    agent: str
    path: str
    reasons: dict[str, int]
    redacted: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        entries = sum(self.reasons.values())
        return {
            "name": self.name,
            "agent": self.agent,
            "path": self.path,
            "entries": entries,
            "reasons": self.reasons,
        }


class Quarantine:
    """The quarantine files below one folder or fsspec URL."""

    def __init__(self, place: str) -> None:
        self._blobs = Blobs(place)

    @classmethod
    def from_settings(cls, settings: Settings) -> Quarantine:
        """Open the quarantine that belongs to the settings."""
        return cls(settings.store if is_shared(settings.store) else str(settings.home))

    def keep(
        self, agent: str, night: str, entries: Iterable[Entry], *, redacted: bool = False
    ) -> str | None:
        """Write the rejects of a night and say where; None when there are none."""
        # A folder's name is not the agent's: it leaves out what file names cannot have.
        of_night = {"agent": agent, "redacted": redacted}
        data = b"".join(jsonio.dumps(of_night | entry) + b"\n" for entry in entries)
        if not data:
            return None
        name = f"{_folder(agent)}/{night}-{hashlib.sha256(data).hexdigest()[:8]}.jsonl"
        self._blobs.write(name, data)
        return self._blobs.path(name)

    def batches(self) -> list[Batch]:
        """Return all quarantine files, oldest night first."""
        names = [name for name in self._blobs.names(_ROOT) if _BATCH.fullmatch(name)]
        return sorted(map(self._batch, names), key=lambda batch: (batch.name, batch.agent))

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
        """Yield the entries of a quarantine file."""
        return self._read(_name(batch))

    def readable_now(self, batch: Batch) -> tuple[list[Entry], list[Entry]]:
        """Return the entries that today's dialects read: records, and files as a whole.

        A file that is still there goes before its entry, which may hold no more than its beginning.
        """
        records, files = [], []
        for entry in self.entries(batch):
            if _is_of_file(entry) and _reads_whole(entry["source"]):
                files.append(entry)
            elif _reads(entry):
                records.append(entry)
        return records, files

    def replay_source(self, batch: Batch, entries: Iterable[Entry]) -> str:
        """Write entries out as a source file for the nightly flow, one raw record a line."""
        data = b"".join(_as_line(entry["raw"]) for entry in entries)
        digest = hashlib.sha256(data).hexdigest()[:8]
        name = f"{_folder(batch.agent)}/replayed/{batch.name}-{digest}.jsonl"
        self._blobs.write(name, data)
        return self._blobs.path(name)

    def discharge(self, batch: Batch, entries: Iterable[Entry]) -> None:
        """Take replayed entries out of their file; an empty file goes."""
        gone = {entry["id"] for entry in entries}
        left = [entry for entry in self.entries(batch) if entry["id"] not in gone]
        if left:
            self._blobs.write(_name(batch), b"".join(jsonio.dumps(e) + b"\n" for e in left))
        else:
            self._blobs.delete(_name(batch))

    def _batch(self, name: str) -> Batch:
        _, agent, file = name.split("/")
        reasons: Counter[str] = Counter()
        redacted = False
        for entry in self._read(name):
            reasons[entry["reason"]] += 1
            agent = entry.get("agent", agent)  # earlier versions wrote neither
            redacted = entry.get("redacted", redacted)
        path = self._blobs.path(name)
        return Batch(file.removesuffix(".jsonl"), agent, path, dict(reasons), redacted)

    def _read(self, name: str) -> Iterator[Entry]:
        for line in io.BytesIO(self._blobs.read(name)):
            yield jsonio.loads(line)


def _reads(entry: Entry) -> bool:
    items = list(read_items(entry["raw"].encode("utf-8", "surrogatepass")))
    return bool(items) and not any(isinstance(item, Reject | Ignored) for item in items)


def _is_of_file(entry: Entry) -> bool:
    """Whether a file was rejected, and not a row that was read from it and is too long to keep."""
    return not entry["position"] and entry["reason"] != "too_long"


def _reads_whole(source: str) -> bool:
    found = False
    try:
        for item in file_items(source):
            if isinstance(item, Reject) and not item.origin.position:
                return False
            found |= isinstance(item, RowItem | SpanItem)
    except (InputError, MissingExtra):  # gone since, or a member of an archive
        return False
    return found


def _as_line(raw: str) -> bytes:
    """Bring one readable record to one line, so that a pretty-printed one does not fall apart."""
    try:
        return jsonio.dumps(jsonio.loads(raw)) + b"\n"
    except ValueError:  # what is read all the same: several values, NaN, broken text
        return raw.encode("utf-8", "surrogatepass").replace(b"\n", b" ") + b"\n"


def _folder(agent: str) -> str:
    return f"{_ROOT}/{re.sub(r'[^A-Za-z0-9._-]', '_', agent) or '_'}"


def _name(batch: Batch) -> str:
    return f"{_folder(batch.agent)}/{batch.name}.jsonl"
