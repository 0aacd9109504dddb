"""`ingest --explain PATH`: how a source is read, without keeping anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit

if TYPE_CHECKING:
    import argparse


def add_commands(commands: Any) -> None:
    """Add this module's command."""
    parser = commands.add_parser(
        "ingest",
        help="explain how sources are read: counts, reasons, one row as read",
        description="Read PATHS without keeping anything, and say per source what came in, where "
        "it went and why, which span attributes are not read, and how one row looks.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs or URLs")
    parser.add_argument(
        "--explain", action="store_true", required=True, help="show the account and one row"
    )
    parser.add_argument("--strict", action="store_true", help="fail when any record is lost")
    arguments.add_json(parser)
    parser.set_defaults(run=_explain)


def _explain(args: argparse.Namespace) -> int:
    from whileai_core.ingest.explain import explain, explanation_text

    explanation = explain(args.paths)
    emit(explanation, explanation_text(explanation), as_json=args.json)
    account = explanation["account"]
    return int(args.strict and bool(account["quarantined"] or account["files_skipped"]))
