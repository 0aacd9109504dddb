"""`quarantine list|show|replay`: what could not be read, and another try after a fix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit, table
from whileai_core.cli.source_root import load_flow
from whileai_core.sources.discovery import shown

if TYPE_CHECKING:
    import argparse

_SHOWN = 160


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    parser = commands.add_parser("quarantine", help="look at and replay what could not be read")
    parts = parser.add_subparsers(dest="quarantine_command", metavar="COMMAND", required=True)

    listing = parts.add_parser("list", help="list quarantine files")
    arguments.add_json(listing)
    listing.set_defaults(run=_list)

    show = parts.add_parser("show", help="show the entries of one file")
    show.add_argument("name", metavar="NAME", help="its name, or the beginning (a night)")
    arguments.add_json(show)
    show.set_defaults(run=_show)

    replay = parts.add_parser(
        "replay",
        help="ingest the entries that are readable now",
        description="Try every entry again, and files that were rejected as a whole. Those that "
        "are readable now go through the nightly flow and leave the file; the others stay.",
    )
    replay.add_argument("name", metavar="NAME", help="its name, or the beginning (a night)")
    arguments.add_json(replay)
    replay.set_defaults(
        run=_replay,
        kept="the entries stay in quarantine until they are ingested; run the same command again",
    )


def _quarantine() -> Any:
    from whileai_core.ingest.quarantine import Quarantine
    from whileai_core.settings import get_settings

    return Quarantine.from_settings(get_settings())


def _list(args: argparse.Namespace) -> None:
    batches = [batch.to_dict() for batch in _quarantine().batches()]
    rows = [
        [
            batch["name"],
            batch["agent"],
            batch["entries"],
            ", ".join(f"{reason} x{n}" for reason, n in sorted(batch["reasons"].items())),
        ]
        for batch in batches
    ]
    text = table(["name", "agent", "entries", "reasons"], rows) if rows else "quarantine is empty"
    emit({"quarantine": batches}, text, as_json=args.json)


def _show(args: argparse.Namespace) -> None:
    quarantine = _quarantine()
    batch = quarantine.find(args.name)
    entries = list(quarantine.entries(batch))
    lines = [batch.path]
    for entry in entries:
        where = " ".join(part for part in (entry["source"], entry["position"]) if part)
        raw = entry["raw"] if len(entry["raw"]) <= _SHOWN else entry["raw"][:_SHOWN] + "…"
        lines += [f"{where}: {entry['reason']}: {entry['detail']}", f"    {raw!r}"]
    emit({**batch.to_dict(), "list": entries}, "\n".join(lines), as_json=args.json)


def _replay(args: argparse.Namespace) -> None:
    from whileai_core.ingest.workspace import Workspace

    quarantine = _quarantine()
    batch = quarantine.find(args.name)
    records, files = quarantine.readable_now(batch)
    readable = [*records, *files]
    left = sum(batch.reasons.values()) - len(readable)
    if not readable:
        emit(
            {"replayed": 0, "left": left},
            f"none of {left} entries is readable yet; they stay in {batch.path}",
            as_json=args.json,
        )
        return
    flow = load_flow("nightly")
    paths = list(dict.fromkeys(entry["source"] for entry in files))
    if paths:
        with Workspace(batch.agent) as workspace:
            workspace.ledger.forget_sources(map(shown, paths))
    if records:
        paths.append(quarantine.replay_source(batch, records))
    result = flow.run(paths=paths, agent=batch.agent, redact=batch.redacted)
    quarantine.discharge(batch, readable)
    emit(
        {"replayed": len(readable), "left": left, **result},
        f"{flow.as_text(result)}\nreplayed {len(readable)} entries, {left} stay in quarantine",
        as_json=args.json,
    )
