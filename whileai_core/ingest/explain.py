"""How sources are read, shown without keeping anything."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.ingest.summary import skipped_lines
from whileai_core.ingest.workspace import Workspace, rejects
from whileai_core.settings import get_settings

if TYPE_CHECKING:
    from collections.abc import Sequence

_REJECTS_SHOWN = 5
_RAW_SHOWN = 120


def explain(paths: Sequence[str]) -> dict[str, Any]:
    """Read sources as the nightly flow would, in a throw-away home.

    Returns:
        `account` (as a night's, with one entry per source), `row` (one row as read, or None)
        and `rejects` (the first few).

    Raises:
        SourceNotFound: One of `paths` names nothing.
    """
    with tempfile.TemporaryDirectory(prefix="whileai-explain-") as folder:
        settings = get_settings().model_copy(
            update={"home": Path(folder), "store_url": None, "ledger_url": None}
        )
        with Workspace("explain", settings=settings) as workspace:
            found = workspace.discover(paths)
            shards = [workspace.normalise(plan) for plan in found.shards]
            merged = workspace.merge(shards, night="")
            row = next(iter(merged.rows), None)
            return {
                "account": merged.account.to_dict() | {"files_skipped": list(found.skipped)},
                "row": row,
                "rejects": list(islice(rejects(shards, merged), _REJECTS_SHOWN)),
            }


def explanation_text(explanation: dict[str, Any]) -> str:
    """Write an explanation as text."""
    account = explanation["account"]
    lines = []
    for source, tally in account["sources"].items():
        lines += [source, *_tally_lines(tally), ""]
    if len(account["sources"]) != 1:
        lines += ["all sources", *_tally_lines(account), ""]
    lines += skipped_lines(account["files_skipped"])
    for entry in explanation["rejects"]:
        where = " ".join(part for part in (entry["source"], entry["position"]) if part)
        lines.append(f"quarantined {where}: {entry['detail']}")
        lines.append(f"    {entry['raw'][:_RAW_SHOWN]!r}")
    unseen = account["quarantined"] - len(explanation["rejects"])
    if unseen:
        lines.append(f"… and {unseen} more")
    if explanation["row"] is not None:
        lines += ["one row as read:", jsonio.pretty(explanation["row"])]
    return "\n".join(lines).rstrip()


def _tally_lines(tally: dict[str, Any]) -> list[str]:
    lines = [
        "  {records} records = {rows} rows + {duplicates} duplicates + {quarantined} quarantined "
        "+ {ignored} ignored".format(**tally)
    ]
    if tally["spans"]:
        lines.append(
            "  {spans} spans, {spans_repeated} of them delivered again, "
            "{spans_without_content} without content".format(**tally)
        )
    for name, label in (("dialects", "read as"), ("reasons", "left out")):
        if tally[name]:
            shown = ", ".join(f"{key} x{count}" for key, count in tally[name].items())
            lines.append(f"  {label}: {shown}")
    if tally["unmapped"]:
        shown = ", ".join(f"{key} x{count}" for key, count in tally["unmapped"].items())
        lines.append(f"  span attributes not read: {shown}")
    return lines
