"""Merge: the shards of a night become one RowSet, each conversation once.

Rows are told apart by their content (`row_id`). Spans are put together per conversation over
all shards, with the earlier spans of nights before; sessions and span conversations that have
grown since an earlier night become a *revision*, everything known already is a duplicate.
The order of the result depends on content alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.spans import (
    Span,
    carries_content,
    link_of,
    rows_from_spans,
    unmapped_attributes,
)
from whileai_core.ingest.account import Account
from whileai_core.ingest.conversations import Links, earlier_shards
from whileai_core.ingest.shards import reject_entry, too_long
from whileai_core.ingest.spill import Spill
from whileai_core.rows import LONGEST_ROW_BYTES, row_id
from whileai_core.sources.items import Origin

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from whileai_core.ingest.ledger import Ledger
    from whileai_core.ingest.shards import Shard, ShardStore
    from whileai_core.rowset import RowSet, RowSetWriter

Entry = dict[str, Any]  # {"id", "conversation", "source", "row"}


@dataclass(frozen=True, slots=True)
class Merged:
    """The result of a merge.

    Attributes:
        rows: New rows and revisions, each with `row_id` (and `revision` from the second on).
        changes: What the ledger has to remember of them once they are pushed.
        rejects: Assembled rows that are too long, as entries for the quarantine.
        account: The complete account.
    """

    rows: RowSet
    changes: RowSet
    rejects: RowSet
    account: Account


def merge(
    shards: Sequence[Shard], store: ShardStore, ledger: Ledger, *, night: str, work: Path
) -> Merged:
    """Put the shards of a night together.

    Args:
        shards: Finished shards, in the order of their files.
        store: Where they lie.
        ledger: What earlier nights ingested.
        night: Date of the night, kept with what the ledger remembers.
        work: Folder for temporary files.

    Raises:
        StoreError: Store, ledger or disk failed.
    """
    account = Account()
    for shard in shards:
        account.merge(shard.account)
    changes = store.rowsets.writer()
    rows = store.rowsets.writer()
    rejects = store.rowsets.writer()
    with Spill(work) as entries:
        for shard in shards:
            for entry in shard.rows:
                entries.add(entry["conversation"] or entry["id"], entry)
        for entry in _assembled(shards, store, ledger, account, changes, work):
            line = jsonio.dumps_line(entry)
            if len(line) > LONGEST_ROW_BYTES:
                rejects.add(_too_long(line, entry, account))
            else:
                entries.add_line(entry["conversation"], line)
        for bucket in entries.buckets():
            _settle(bucket, ledger, account, night=night, rows=rows, changes=changes)
    return Merged(rows.close(), changes.close(), rejects.close(), account)


# -- rows


def _settle(
    bucket: list[Entry],
    ledger: Ledger,
    account: Account,
    *,
    night: str,
    rows: RowSetWriter,
    changes: RowSetWriter,
) -> None:
    """Decide for each entry of a bucket whether it is a row of tonight or known already."""
    winners = _by_content(bucket, ledger, account) + _by_conversation(bucket, ledger, account)
    for entry, revision in sorted(winners, key=lambda winner: winner[0]["id"]):
        tally = account.of(entry["source"])
        tally.rows += 1
        row = {**entry["row"], "row_id": entry["id"]}
        if revision > 1:
            row["revision"] = revision
            tally.revisions += 1
        rows.add(row)
        changes.add({"table": "rows", "row_id": entry["id"], "night": night})
        if entry["conversation"]:
            changes.add(
                {
                    "table": "conversations",
                    "conversation": entry["conversation"],
                    "row_id": entry["id"],
                    "revision": revision,
                    "steps": _length(entry),
                    "night": night,
                }
            )


def _by_content(bucket: list[Entry], ledger: Ledger, account: Account) -> list[tuple[Entry, int]]:
    plain = [entry for entry in bucket if not entry["conversation"]]
    seen = ledger.known_rows({entry["id"] for entry in plain})
    winners = []
    for entry in plain:
        if entry["id"] in seen:
            account.of(entry["source"]).duplicates += 1
        else:
            seen.add(entry["id"])
            winners.append((entry, 1))
    return winners


def _by_conversation(
    bucket: list[Entry], ledger: Ledger, account: Account
) -> list[tuple[Entry, int]]:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in bucket:
        if entry["conversation"]:
            groups[entry["conversation"]].append(entry)
    known = ledger.conversations(groups)
    winners = []
    for key, group in groups.items():
        best = max(group, key=lambda entry: (_length(entry), entry["id"]))
        last_id, revision, length = known.get(key, ("", 0, -1))
        # A copy that is shorter than what we have is an old state of the same conversation.
        news = best["id"] != last_id and _length(best) >= length
        for entry in group:
            if entry is best and news:
                winners.append((entry, revision + 1))
            else:
                account.of(entry["source"]).duplicates += 1
    return winners


def _length(entry: Entry) -> int:
    return len(entry["row"].get("steps") or ())


# -- spans


def _assembled(
    shards: Sequence[Shard],
    store: ShardStore,
    ledger: Ledger,
    account: Account,
    changes: RowSetWriter,
    work: Path,
) -> Iterator[Entry]:
    """Yield one entry per conversation that got a span tonight, earlier spans included."""
    links = Links()
    for shard in shards:
        for change in _remember(shard, links):
            changes.add(change)
    earlier = earlier_shards(links, ledger) - {shard.key for shard in shards}
    with Spill(work) as spill:
        for key in sorted(earlier):
            old = store.find(key)
            for entry in old.spans if old is not None else ():
                _file_span(spill, links, entry, new=False)
        for shard in shards:
            for entry in shard.spans:
                _file_span(spill, links, entry, new=True)
        for bucket in spill.buckets():
            for group in _groups(bucket):
                yield from _rows_of(group, account)


def _too_long(line: bytes, entry: Entry, account: Account) -> dict[str, Any]:
    origin = Origin(entry["source"], f"conversation {entry['conversation']}")
    reject = too_long(entry, line, origin)
    account.of(origin.source).quarantine(reject.reason)
    return reject_entry(reject)


def _remember(shard: Shard, links: Links) -> Iterator[dict[str, Any]]:
    """Join up a shard's traces and conversations, and yield what the ledger must know of them."""
    pairs = set()
    for entry in shard.spans:
        pairs.add(link_of(entry["span"]))
    for trace, conversation in sorted(pairs):
        links.join(trace, conversation)
        if trace or conversation:
            yield {
                "table": "spans",
                "trace": trace,
                "conversation": conversation,
                "shard": shard.key,
            }


def _file_span(spill: Spill, links: Links, entry: dict[str, Any], *, new: bool) -> None:
    group = links.group(*link_of(entry["span"]))
    if group is None:
        if not new:
            return
        # Nothing links such a span to others; those of one file are told apart by the dialect.
        group = f"s:{entry['source']}"
    spill.add(group, {"group": group, "new": new, **entry})


def _groups(bucket: list[dict[str, Any]]) -> Iterable[list[dict[str, Any]]]:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in bucket:
        groups[entry["group"]].append(entry)
    return [group for group in groups.values() if any(entry["new"] for entry in group)]


def _rows_of(group: list[dict[str, Any]], account: Account) -> Iterator[Entry]:
    """Assemble the spans of one group; a group without a conversation is ignored and counted."""
    spans = [Span.from_json(entry["span"]) for entry in group]
    seen: set[tuple[str, str]] = set()
    for entry, span in zip(group, spans, strict=True):
        identity = (span.trace_id or "", span.span_id or "")
        if entry["new"] and all(identity) and identity in seen:
            account.of(entry["source"]).spans_repeated += 1
        elif entry["new"] and not carries_content(span):
            account.of(entry["source"]).spans_without_content += 1
        seen.add(identity)
    source = min(entry["source"] for entry in group if entry["new"])
    tally = account.of(source)
    for (_, name), count in unmapped_attributes(spans).items():
        tally.unmapped[name] += count
    rows = rows_from_spans(spans)
    tally.records += max(len(rows), 1)
    if not rows:
        tally.ignored += 1
        tally.reasons["ignored:no_genai_content"] += 1
    for row in rows:
        tally.dialects["spans"] += 1
        yield {
            "id": row_id(row),
            "conversation": row["conversation_id"],
            "source": source,
            "row": row,
        }
