"""The command line: `whileai-pipelines`.

stdout is data, stderr is talk. Exit codes: 0 done, 1 failed or refused, 2 wrong usage.
"""

from whileai_core.cli.main import main

__all__ = ["main"]
