"""Time `rows_from_otel` against parsing the same bytes, as ratios.

    python -m benchmarks.bench_otel FILE [--pairs 5]

FILE is one OTLP/JSON document, or one batch per line (`.jsonl`). Both sides run in turn; the
median ratio and its range are printed, and the memory that the rows take at the peak.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

from whileai_core import jsonio, rows_from_otel
from whileai_core.sources.collector import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable


def parse(path: Path) -> float:
    """Return the seconds that parsing alone takes: a document kept, lines not kept."""
    with collector_paused():
        start = time.perf_counter()
        if path.suffix == ".jsonl":
            with path.open("rb") as lines:
                for line in lines:
                    jsonio.loads_exact(line)
        else:
            kept = jsonio.loads_exact(path.read_bytes())
            del kept
        return time.perf_counter() - start


def read(path: Path) -> float:
    """Return the seconds that reading the rows takes."""
    start = time.perf_counter()
    rows = rows_from_otel(path)
    seconds = time.perf_counter() - start
    if not rows:
        raise SystemExit(f"{path} holds no conversations")
    return seconds


def peak(work: Callable[[Path], float], path: Path) -> float:
    """Return the peak memory of one of the two as a share of the file."""
    tracemalloc.start()
    work(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most / path.stat().st_size


def main() -> None:
    """Run the pairs and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("file", type=Path)
    parser.add_argument("--pairs", type=int, default=5)
    options = parser.parse_args()
    parse(options.file), read(options.file)  # both warm
    ratios = []
    for _ in range(options.pairs):
        alone = parse(options.file)
        ratios.append(read(options.file) / alone)
    low, high = min(ratios), max(ratios)
    print(f"{statistics.median(ratios):.2f} x parse ({low:.2f} to {high:.2f})")
    # The parser asks for far more than it touches when it reads a whole document.
    alone, with_rows = peak(parse, options.file), peak(read, options.file)
    print(f"peak memory {with_rows:.2f} x the file; parsing alone {alone:.2f}")


if __name__ == "__main__":
    main()
