"""Reading against bare parsing: time as a ratio, memory above the input's.

Runs each pair interleaved and prints the median ratio with its range; times in seconds mean
nothing on a shared machine.

    python -m benchmarks.bench_load [--rows 100000] [--pairs 5]
"""

from __future__ import annotations

import argparse
import gc
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from benchmarks import traffic

if TYPE_CHECKING:
    from collections.abc import Callable


def parse_and_keep(path: str) -> object:
    """Parse every line into a kept list, with the collector paused."""
    gc.disable()
    try:
        with Path(path).open("rb") as file:
            return [orjson.loads(line) for line in file]
    finally:
        gc.enable()


def parse(path: str) -> None:
    """Parse every line and keep nothing, with the collector paused."""
    gc.disable()
    try:
        with Path(path).open("rb") as file:
            for line in file:
                orjson.loads(line)
    finally:
        gc.enable()


def load(path: str) -> object:
    """Load all rows."""
    from whileai_core.dialects.load import load_traces

    return load_traces(path)


def stream(path: str) -> None:
    """Read item by item and keep nothing."""
    from whileai_core.dialects.reading import read_items

    for _ in read_items(path):
        pass


OPERATIONS: dict[str, Callable[[str], object]] = {
    operation.__name__: operation for operation in (parse_and_keep, parse, load, stream)
}


def seconds(operation: Callable[[str], object], path: str) -> float:
    """Return the processor time of one run; the result is dropped outside of it."""
    start = time.process_time()
    result = operation(path)
    taken = time.process_time() - start
    del result
    return taken


def peak_mib(operation: str, path: str) -> float:
    """Return how far one run in a process of its own raises the peak of resident memory."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.bench_load",
        "--measure",
        operation,
        "--path",
        path,
    ]
    return float(subprocess.run(command, check=True, capture_output=True).stdout)


def measure(operation: str, path: str, small: str) -> float:
    """Run once on little input, for the imports; then return the rise of the peak in MiB."""
    OPERATIONS[operation](small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kept = OPERATIONS[operation](path)
    rise = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    del kept
    return rise / 1024


def compare(path: str, base: str, operation: str, pairs: int) -> str:
    """Return the median ratio of interleaved runs, with its range."""
    ratios = []
    for _ in range(pairs):
        reference = seconds(OPERATIONS[base], path)
        ratios.append(seconds(OPERATIONS[operation], path) / reference)
    return f"{statistics.median(ratios):5.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main() -> None:
    """Make the inputs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--measure", choices=OPERATIONS)
    parser.add_argument("--path")
    options = parser.parse_args()
    if options.measure:
        with tempfile.TemporaryDirectory() as folder:
            small = Path(folder, "small.jsonl")
            traffic.write_lines(small, traffic.row, 10)
            print(measure(options.measure, options.path, str(small)))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths: dict[str, str] = {}
        for name, make in (("rows", traffic.row), ("messages", traffic.chat)):
            path = Path(folder, f"{name}.jsonl")
            traffic.write_lines(path, make, options.rows)
            paths[name] = str(path)
        runs = [
            (name, base, operation)
            for name in paths
            for base, operation in (("parse", "stream"), ("parse_and_keep", "load"))
        ]
        # Memory first: a process starts with the peak of the one that made it.
        peaks = [
            f"{peak_mib(operation, paths[name]):.0f} MiB for {peak_mib(base, paths[name]):.0f}"
            for name, base, operation in runs
        ]
        for (name, base, operation), peak in zip(runs, peaks, strict=True):
            ratio = compare(paths[name], base, operation, options.pairs)
            print(f"{name:9} {operation:7} {ratio} x {base:15} {peak}")


if __name__ == "__main__":
    main()
