"""The memory that pushing and pulling a large dataset takes, of the client and of the gate.

    python -m benchmarks.gate_memory [--megabytes 1000] [--database sqlite|postgresql]

Rows are made on the way, pushed from an iterator, pulled into a file and read one by one, each in
a client process of its own. Exit code 1 when a process had 300 MB at any time, or a byte differs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.gate_kit import peak_megabytes, running_gate

_LIMIT_MEGABYTES = 300


def main() -> None:
    """Push, pull and read; print time and peak memory of each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    args = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as folder, running_gate(args.database) as gate:
        os.environ |= {"WHILEAI_API_URL": gate.origin, "WHILEAI_API_KEY": gate.new_key("memory")}
        os.environ["WHILEAI_HOME"] = folder
        path = Path(folder, "pulled.jsonl")
        entry, peak = _measured("push", _push, args.megabytes)
        peaks.append(peak)
        digest, peak = _measured("pull", _pull, entry["datasetId"], str(path))
        peaks.append(peak)
        rows, peak = _measured("iter_rows", _read, entry["datasetId"])
        peaks.append(peak)
        size = path.stat().st_size
        peaks.append(gate.peak_megabytes())
        print(f"gate: peak {peaks[-1]:.0f} MB")
    fine = (size, rows, digest) == (entry["sizeBytes"], entry["rows"], entry["sha256"])
    print(f"{size / 1e6:.0f} MB in {rows} rows came back {'unaltered' if fine else 'ALTERED'}")
    sys.exit(0 if fine and max(peaks) < _LIMIT_MEGABYTES else 1)


def _measured(name: str, work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    started = time.monotonic()
    with get_context("spawn").Pool(1) as pool:
        result, peak = pool.apply(_with_peak, (work, arguments))
    print(f"{name}: {time.monotonic() - started:.0f} s, client peak {peak:.0f} MB", flush=True)
    return result, peak


def _with_peak(work: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, float]:
    return work(*arguments), peak_megabytes(os.getpid())


def _rows(megabytes: int) -> Iterator[dict[str, Any]]:
    text = "The radar shows rain in the north, and it moves on. " * 18
    made = 0
    while made < megabytes * 1_000_000:
        row = {"prompt": f"Rain {made}?", "steps": [], "final_text": text, "reward": made % 2}
        made += 1000
        yield row


def _push(megabytes: int) -> Any:
    from whileai_core import sync

    return sync.push_rows(_rows(megabytes), "large")


def _pull(dataset_id: str, path: str) -> str:
    from whileai_core import sync

    sync.pull(dataset_id, path)
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read(dataset_id: str) -> int:
    import anyio

    from whileai_core.platform import iter_rows

    async def count() -> int:
        return sum([1 async for _ in iter_rows(dataset_id)])

    return anyio.run(count)


if __name__ == "__main__":
    main()
