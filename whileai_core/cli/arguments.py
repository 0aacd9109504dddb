"""Argument types shared by commands: a wrong value is a usage error before anything runs."""

from __future__ import annotations

import argparse
import sys
from datetime import date
from typing import NoReturn

_LONGEST_NAME = 100


class WrongUsage(Exception):
    """The arguments cannot be understood, or do not go together.

    Attributes:
        usage: How the command is used.
    """

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class Parser(argparse.ArgumentParser):
    """A parser that leaves it to the caller how wrong usage is told."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting.

        Raises:
            WrongUsage: Always.
        """
        raise WrongUsage(message, self.format_usage())


def add_json(parser: argparse.ArgumentParser) -> None:
    """Give a command the flag for machines."""
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout")


def share(text: str) -> float:
    """A number from 0 to 1."""
    return _between(text, 0.0, 1.0)


def proper_share(text: str) -> float:
    """A number above 0 and below 1."""
    value = _between(text, 0.0, 1.0)
    if value in (0.0, 1.0):
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and below 1")
    return value


def night(text: str) -> date:
    """A date, `YYYY-MM-DD`."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date like 2026-11-28") from None


def agent(text: str) -> str:
    """A name of an agent or a climb: trimmed, lower case, not blank; files are named after it."""
    name = text.strip().lower()
    if not name:
        raise argparse.ArgumentTypeError("it needs a name")
    if len(name) > _LONGEST_NAME:
        raise argparse.ArgumentTypeError(f"a name has {_LONGEST_NAME} characters at most")
    return name


def count(text: str) -> int:
    """A whole number from 1."""
    return int(_between(text, 1, sys.maxsize, whole=True))


def whole(text: str) -> int:
    """A whole number from 0."""
    return int(_between(text, 0, sys.maxsize, whole=True))


def port(text: str) -> int:
    """A TCP port; 0 lets the system choose."""
    return int(_between(text, 0, 65535, whole=True))


def _between(text: str, low: float, high: float, *, whole: bool = False) -> float:
    try:
        value = int(text) if whole else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text} is not between {low:g} and {high:g}")
    return value
