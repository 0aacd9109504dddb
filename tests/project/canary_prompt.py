"""Runs many of our commands in one process, each with an environment of its own.

Reads a JSON list of `[name, arguments, environment]` from stdin; writes what each said to a file
of that name in the folder of the first argument.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

from whileai_core.cli import main


def run(said: Path, arguments: list[str], environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    try:
        sys.stderr.write(f"exit code {main(arguments)}\n")
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()


if __name__ == "__main__":
    for number, (_, arguments, environment) in enumerate(json.load(sys.stdin)):
        run(Path(sys.argv[1], str(number)), arguments, environment)
