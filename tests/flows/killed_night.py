"""Runs a night in this process and kills it, as `kill -9` would, at one named moment.

usage: killed_night.py MOMENT SOURCE…
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from datetime import date

from benchmarks.armed import NIGHTLY, arm, nightly


def main() -> None:
    """Arm the moment and run."""
    moment, *sources = sys.argv[1:]
    arm(NIGHTLY[moment], lambda: os.kill(os.getpid(), signal.SIGKILL))
    asyncio.run(
        nightly(paths=sources, agent="support", night=date(2026, 11, 28), max_bad_share=0.1)
    )
    sys.exit("the moment never came")


if __name__ == "__main__":
    main()
