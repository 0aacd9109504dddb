"""Normalise: one shard of files becomes rows, spans and rejects in the store.

A shard's result is named after what it was made of (`ShardPlan.key`), so it is made once: a
night that was killed takes up its finished shards, and a late span finds the earlier spans of
its conversation in the shards of earlier nights.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.blobs import Blobs
from whileai_core.dialects.reading import RowItem, SpanItem, file_items
from whileai_core.dialects.registry import SESSION_DIALECTS
from whileai_core.ingest.account import Account
from whileai_core.rows import LONGEST_ROW_BYTES, row_id
from whileai_core.rowset import RowSet, RowSetStore
from whileai_core.sources.discovery import shown
from whileai_core.sources.items import Ignored, Reject
from whileai_core.sources.limits import raw_text

if TYPE_CHECKING:
    from whileai_core.ingest.discover import ShardPlan
    from whileai_core.redaction import Redactor
    from whileai_core.rows import Row
    from whileai_core.rowset import RowSetWriter
    from whileai_core.sources.items import Origin

_SESSIONS = frozenset(dialect.name for dialect in SESSION_DIALECTS)


@dataclass(frozen=True, slots=True)
class Shard:
    """The result of normalising one shard.

    Attributes:
        key: Its plan's key.
        rows: Entries `{"id", "conversation", "source", "row"}`; `conversation` is set where a
            later delivery of the same conversation replaces the row (sessions).
        spans: Entries `{"source", "span"}`.
        rejects: Entries `{"source", "position", "reason", "detail", "raw"}`.
        account: Counts so far: records, quarantined and ignored; the merge adds the rest.
    """

    key: str
    rows: RowSet
    spans: RowSet
    rejects: RowSet
    account: Account

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "key": self.key,
            "rows": self.rows.to_dict(),
            "spans": self.spans.to_dict(),
            "rejects": self.rejects.to_dict(),
            "account": self.account.to_dict(),
        }

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> Shard:
        """Read back what `to_dict` gave."""
        handles = {name: RowSet.from_dict(value[name]) for name in ("rows", "spans", "rejects")}
        return cls(key=value["key"], account=Account.from_dict(value["account"]), **handles)


class ShardStore:
    """Finished shards by key, beside the RowSets they consist of."""

    def __init__(self, url: str) -> None:
        self.rowsets = RowSetStore(url)
        self._blobs = Blobs(url)

    def sweep(self) -> int:
        """Remove what killed writers left behind and count it."""
        return self._blobs.sweep()

    def find(self, key: str) -> Shard | None:
        """Return the finished shard of that key, if there is one."""
        name = f"shards/{key}.json"
        if not self._blobs.exists(name):
            return None
        return Shard.from_dict(jsonio.loads(self._blobs.read(name)))

    def save(self, shard: Shard) -> None:
        """Make a shard findable; written last, when all it names is stored."""
        self._blobs.write(f"shards/{shard.key}.json", jsonio.dumps(shard.to_dict()))


def normalise(plan: ShardPlan, store: ShardStore, *, redactor: Redactor | None = None) -> Shard:
    """Read the files of one shard into rows, spans and rejects, and store them.

    Nothing raises out of a file's content. With a redactor, everything is redacted before it is
    written, rejects included.

    Raises:
        SourceNotFound, UnreadableSource: A file vanished or cannot be opened.
        StoreError: The store cannot be written.
    """
    done = store.find(plan.key)
    if done is not None:
        return done
    intake = _Intake(store.rowsets, redactor)
    for file in plan.files:
        source = shown(file.name)
        for item in file_items(file.name):
            intake.take(source, item)
        intake.end_source(source)
    shard = intake.close(plan.key)
    store.save(shard)
    return shard


class _Intake:
    """Sorts the items of a shard into its three RowSets and counts them."""

    def __init__(self, store: RowSetStore, redactor: Redactor | None) -> None:
        self._rows: RowSetWriter = store.writer()
        self._spans: RowSetWriter = store.writer()
        self._rejects: RowSetWriter = store.writer()
        self._redactor = redactor
        self._account = Account()

    def take(self, source: str, item: RowItem | SpanItem | Reject | Ignored) -> None:
        tally = self._account.of(source)
        if isinstance(item, RowItem):
            tally.records += 1
            tally.dialects[item.dialect] += 1
            self._take_row(source, item)
        elif isinstance(item, SpanItem):
            tally.spans += 1
            self._spans.add({"source": source, "span": self._clean(item.span.to_json())})
        elif isinstance(item, Reject):
            tally.records += 1
            self._reject(source, item)
        else:
            tally.records += item.n
            tally.ignored += item.n
            tally.reasons[f"ignored:{item.reason}"] += item.n

    def end_source(self, source: str) -> None:
        if self._redactor is not None:
            self._account.of(source).redacted.update(self._redactor.counts)
            self._redactor.counts.clear()

    def _reject(self, source: str, reject: Reject) -> None:
        self._account.of(source).quarantine(reject.reason)
        self._rejects.add(self._clean(reject_entry(reject)))

    def _take_row(self, source: str, item: RowItem) -> None:
        row = self._clean(item.row)
        try:
            entry, line = _written(source, item.dialect, row)
        except ValueError:
            # Keys outside the schema may hold NaN or broken text; the row is worth more than they.
            entry, line = _written(source, item.dialect, jsonio.strict(row))
        if len(line) > LONGEST_ROW_BYTES:
            self._reject(source, too_long(entry, line, item.origin))
        else:
            self._rows.add_line(line)

    def _clean(self, value: dict[str, Any]) -> dict[str, Any]:
        return value if self._redactor is None else self._redactor.row(value)

    def close(self, key: str) -> Shard:
        return Shard(
            key,
            self._rows.close(),
            self._spans.close(),
            self._rejects.close(),
            self._account,
        )


def _written(source: str, dialect: str, row: Row) -> tuple[dict[str, Any], bytes]:
    conversation = _session_of(row) if dialect in _SESSIONS else None
    entry = {"id": row_id(row), "conversation": conversation, "source": source, "row": row}
    return entry, jsonio.dumps_line(entry)


def _session_of(row: Row) -> str | None:
    """Name the conversation of a session row: its id and how it began.

    A session grows at its end and keeps its first ask. Rows that share an id and began otherwise
    (a sub-agent in a file of its own) are conversations of their own, not states of one.
    """
    session = row.get("conversation_id")
    if not session:
        return None
    start = hashlib.sha256(str(row.get("prompt")).encode("utf-8", "surrogatepass"))
    return f"{session}#{start.hexdigest()[:12]}"


def too_long(entry: dict[str, Any], line: bytes, origin: Origin) -> Reject:
    """Return the reject of an entry whose line is longer than `LONGEST_ROW_BYTES`."""
    detail = f"the row has {len(line)} bytes, and a dataset takes {LONGEST_ROW_BYTES} a row"
    return Reject("too_long", detail, origin, raw_text(jsonio.dumps(entry["row"])))


def reject_entry(reject: Reject) -> dict[str, Any]:
    """Return a reject as the object that quarantine files hold."""
    return {
        "id": hashlib.sha256(
            "\0".join((*reject.origin, reject.raw)).encode("utf-8", "replace")
        ).hexdigest()[:16],
        "source": reject.origin.source,
        "position": reject.origin.position,
        "reason": reject.reason,
        "detail": reject.detail,
        "raw": reject.raw,
    }
