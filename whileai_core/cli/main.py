"""The parser and the one place where errors become exit codes."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from typing import TYPE_CHECKING

from whileai_core.cli import (
    check,
    datasets,
    deploy,
    gate,
    hub,
    ingest,
    nightly,
    quarantine,
    runs,
    simulation,
    traces,
)
from whileai_core.cli.output import DONE, FAILED, INTERRUPTED, emit_error, talk
from whileai_core.errors import WhileError
from whileai_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        prog="whileai-pipelines",
        description="Turn agent traces into checked, split datasets, every night.",
        epilog="Everything is kept under WHILEAI_HOME (default ~/.whileai). "
        "Exit codes: 0 done, 1 failed or refused, 2 wrong usage.",
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (
        nightly,
        ingest,
        traces,
        check,
        simulation,
        datasets,
        hub,
        runs,
        quarantine,
        gate,
        deploy,
    ):
        module.add_commands(commands)
    return parser


def _end(number: int, _: object) -> None:
    emit_error("stopped; run the same command again to carry on", as_json=False)
    raise SystemExit(128 + number)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser().parse_args(argv)
    as_json = bool(getattr(args, "json", False))
    talk()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)  # so that what was begun is ended in order
    try:
        return int(args.run(args) or DONE)
    except WhileError as error:
        emit_error(str(error), as_json=as_json)
        return FAILED
    except KeyboardInterrupt:
        emit_error("interrupted; run the same command again to carry on", as_json=as_json)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away; that is its business.
        sys.stderr.close()
        return FAILED
