"""`report` and `split`: the trace operations at the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import USAGE, checked_output, emit, emit_error

if TYPE_CHECKING:
    import argparse


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    report = commands.add_parser("report", help="say what traces hold")
    report.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs or URLs")
    arguments.add_json(report)
    report.set_defaults(run=_report)

    split = commands.add_parser(
        "split",
        help="split traces into a held-out slice and a remainder, by task",
        description="Hold out whole tasks, each distinct flaw at least once. The held-out slice "
        "goes to HELD, the rest to REST, one JSON row a line.",
    )
    split.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, globs or URLs")
    split.add_argument("--held", required=True, metavar="FILE", help="file for the held-out slice")
    split.add_argument("--rest", required=True, metavar="FILE", help="file for the remainder")
    split.add_argument(
        "--fraction", type=arguments.share, default=0.2, help="share to hold out (%(default)s)"
    )
    split.add_argument("--seed", type=int, default=0, help="another seed, another choice")
    arguments.add_json(split)
    split.set_defaults(run=_split)


def _report(args: argparse.Namespace) -> None:
    from whileai_core import format_trace_report, trace_report
    from whileai_core.dialects.load import load_all

    report = trace_report(load_all(args.paths))
    emit(report, format_trace_report(report), as_json=args.json)


def _split(args: argparse.Namespace) -> int:
    from whileai_core import jsonio, split_pseudo_production
    from whileai_core.atomic import write_atomic
    from whileai_core.dialects.load import load_all

    outputs = [checked_output(name).resolve() for name in (args.held, args.rest)]
    if outputs[0] == outputs[1] or any(Path(path).resolve() in outputs for path in args.paths):
        emit_error(
            "--held, --rest and the traces must be different files; nothing was written",
            as_json=args.json,
        )
        return USAGE
    held, rest = split_pseudo_production(
        load_all(args.paths), fraction=args.fraction, seed=args.seed
    )
    for name, rows in ((args.held, held), (args.rest, rest)):
        write_atomic(Path(name), b"".join(jsonio.dumps(row) + b"\n" for row in rows))
    text = f"held out {len(held)} rows in {args.held}, {len(rest)} remain in {args.rest}"
    if held and not rest:
        text += "\nnothing remains: every task shows a flaw of its own, and each is held out once"
    value = {
        "held": {"path": args.held, "rows": len(held)},
        "rest": {"path": args.rest, "rows": len(rest)},
    }
    emit(value, text, as_json=args.json)
    return 0
