"""What commands print: one JSON object for machines, text for people, talk on stderr."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.sources.discovery import shown

DONE, FAILED, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


def emit(value: dict[str, Any], text: str, *, as_json: bool) -> None:
    """Print a command's result: the object with `--json`, else the text."""
    if as_json:
        print(_json(value), flush=True)
    elif text:
        print(shown(text), flush=True)


def _json(value: dict[str, Any]) -> str:
    try:
        return jsonio.dumps(value).decode()
    except ValueError:  # a file's name that is no UTF-8
        return jsonio.dumps(_printable(value)).decode()


def _printable(value: Any) -> Any:
    if isinstance(value, dict):
        return {_printable(key): _printable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_printable(item) for item in value]
    return shown(value) if isinstance(value, str) else value


def emit_error(message: str, *, as_json: bool) -> None:
    """Print why a command failed: one line on stderr, and an object on stdout with `--json`."""
    line = shown(" ".join(message.split()))
    print(f"whileai-pipelines: {line}", file=sys.stderr)
    if as_json:
        print(jsonio.dumps({"error": line}).decode())


def talk(*, as_json: bool = False) -> None:
    """Send log and warnings to stderr in plain lines: progress on a terminal, warnings anywhere.

    JSON is UTF-8 in every locale; of text, a locale that has fewer letters gets escapes.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = "utf-8" if as_json else None
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    warnings.showwarning = _show_warning
    logger = logging.getLogger("whileai_core")
    logger.setLevel(logging.INFO if sys.stderr.isatty() else logging.WARNING)
    if all(isinstance(handler, logging.NullHandler) for handler in logger.handlers):
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(message)s"))
        logger.addHandler(handler)
        logger.propagate = False


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"warning: {message}", file=sys.stderr)


def checked_output(name: str) -> Path:
    """Return the path of a file to write, before anything is paid for that could not be kept.

    Raises:
        InputError: No file can be written there.
    """
    path = Path(name)
    if not name or path.is_dir():
        raise InputError(f"{shown(name) or 'an empty path'} is no file to write to; name one")
    folder = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not (folder.is_dir() and os.access(folder, os.W_OK)):
        raise InputError(f"{shown(name)} cannot be written, since nothing can be made in {folder}")
    return path


def table(headers: list[str], rows: list[list[Any]]) -> str:
    """Lay out rows as aligned columns; numbers to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [headers, *cells]) for i in range(len(headers))]
    numeric = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(headers))]
    lines = [
        "  ".join(
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in [headers, ["-" * width for width in widths], *cells]
    ]
    return "\n".join(lines)
