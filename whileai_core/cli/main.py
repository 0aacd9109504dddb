"""The parser and the one place where errors become exit codes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from contextlib import suppress
from pathlib import Path
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
from whileai_core.cli.arguments import Parser, WrongUsage
from whileai_core.cli.output import DONE, FAILED, INTERRUPTED, TERMINATED, USAGE, emit_error, talk
from whileai_core.errors import WhileError
from whileai_core.version import __version__

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

# Commands that leave more than that say so by `kept=`.
_KEPT = "nothing was kept; run the same command again"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = Parser(
        prog="whileai-pipelines",
        description="Turn agent traces into checked, split datasets, every night.",
        epilog="Everything is kept under WHILEAI_HOME (default ~/.whileai). Exit codes: 0 done, "
        "1 failed or refused, 2 wrong usage, 130 interrupted, 143 told to stop.",
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


class _Terminated(SystemExit):
    """The process was asked to end; event loops let this kind through."""


def _end(*_: object) -> None:
    raise _Terminated(TERMINATED)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in given
    talk(as_json=as_json)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _end)  # so that what was begun is ended in order
    kept = _KEPT
    try:
        args = build_parser().parse_args(given)
        kept = getattr(args, "kept", _KEPT)
        return int(args.run(args) or DONE)
    except WrongUsage as error:
        sys.stderr.write(error.usage)
        emit_error(str(error), as_json=as_json)
        return USAGE
    except WhileError as error:
        emit_error(str(error), as_json=as_json)
        return FAILED
    except KeyboardInterrupt:
        emit_error(f"interrupted; {kept}", as_json=as_json)
        return INTERRUPTED
    except _Terminated:
        emit_error(f"stopped; {kept}", as_json=as_json)
        return TERMINATED
    except BrokenPipeError:
        return FAILED  # the reader of our output went away; that is its business
    except OSError as error:
        emit_error(_told(error), as_json=as_json)
        return FAILED
    except Exception as error:
        traceback.print_exc()
        kind = type(error).__name__
        emit_error(f"{kind}: a fault of the product, please report it", as_json=as_json)
        return FAILED
    finally:
        _end_output()


def _end_output() -> None:
    """Write out what is left; where nobody takes it, do not have the interpreter try again."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _told(error: OSError) -> str:
    """Say what the machine refused, and of which file."""
    reason = error.strerror or str(error) or type(error).__name__
    if not isinstance(error.filename, str):
        return f"{reason}; free space or fix rights, then run the same command again"
    return f"{error.filename}: {reason}; mend that and run the same command again"
