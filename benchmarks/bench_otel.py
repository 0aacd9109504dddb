"""Time `rows_from_otel` against parsing the same bytes, as ratios.

    python -m benchmarks.bench_otel FILE [--pairs 5]

FILE is one OTLP/JSON document, or one batch per line (`.jsonl`). The sides run in turn; the
median ratio of their processor times and its range are printed, and the memory that the rows take
at the peak. Between parsing and reading stands the least that any reader in Python does: look at
the attribute names of each span, parse what tool spans and the last history of a trace hold.
"""

from __future__ import annotations

import argparse
import statistics
import time
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio, rows_from_otel
from whileai_core.sources.collector import collector_paused

if TYPE_CHECKING:
    from collections.abc import Callable


_TOOL_TEXTS = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result")
_HISTORY = "gen_ai.input.messages"


def parse(path: Path) -> float:
    """Return the seconds that parsing alone takes: a document kept, lines not kept."""
    with collector_paused():
        start = time.process_time()
        if path.suffix == ".jsonl":
            with path.open("rb") as lines:
                for line in lines:
                    jsonio.loads_exact(line)
        else:
            kept = jsonio.loads_exact(path.read_bytes())
            del kept
        return time.process_time() - start


def least(path: Path) -> float:
    """Return the seconds that parsing and the least of any reading take."""
    with collector_paused():
        start = time.process_time()
        if path.suffix == ".jsonl":
            with path.open("rb") as lines:
                kept = [_touched(jsonio.loads_exact(line)) for line in lines]
        else:
            kept = [_touched(jsonio.loads_exact(path.read_bytes()))]
        seconds = time.process_time() - start
        del kept
        return seconds


def _touched(batch: dict[str, Any]) -> list[Any]:
    steps: list[Any] = []
    histories: dict[str, str] = {}
    for resource in batch["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                names = [attribute["key"] for attribute in span["attributes"]]
                for name in _TOOL_TEXTS:
                    if name in names:
                        value = span["attributes"][names.index(name)]["value"]
                        steps.append(jsonio.loads_exact(value["stringValue"]))
                if _HISTORY in names:
                    value = span["attributes"][names.index(_HISTORY)]["value"]
                    histories[span["traceId"]] = value["stringValue"]
    return [steps, [jsonio.loads_exact(text)[:2] for text in histories.values()]]


def read(path: Path) -> float:
    """Return the seconds that reading the rows takes."""
    start = time.process_time()
    rows = rows_from_otel(path)
    seconds = time.process_time() - start
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
    parse(options.file), least(options.file), read(options.file)  # all warm
    ratios: dict[str, list[float]] = {"least": [], "rows_from_otel": []}
    for _ in range(options.pairs):
        alone = parse(options.file)
        ratios["least"].append(least(options.file) / alone)
        ratios["rows_from_otel"].append(read(options.file) / alone)
    for name, found in ratios.items():
        print(f"{name}: {statistics.median(found):.2f} x parse ({min(found):.2f}-{max(found):.2f})")
    # The parser asks for far more than it touches when it reads a whole document.
    alone, with_rows = peak(parse, options.file), peak(read, options.file)
    print(f"peak memory {with_rows:.2f} x the file; parsing alone {alone:.2f}")


if __name__ == "__main__":
    main()
