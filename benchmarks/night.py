"""A night over a lot of mixed traces: its memory, and the same result after SIGKILL.

    python -m benchmarks.night --make FOLDER --megabytes 1000
    python -m benchmarks.night FOLDER [--kills 3] [--seed 0]

The second form runs the nightly flow over FOLDER in a process of its own and prints the peak
memory of that process tree. Then, in another home, it kills the same run (SIGKILL) at random
moments, runs it to its end, and compares what the two platforms hold.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from benchmarks import traffic

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "whileai_core.cli"]
KINDS = {"rows": traffic.row, "messages": traffic.chat, "spans": traffic.otlp_batch}


def make(folder: Path, megabytes: int) -> None:
    """Write about that much traffic: rows, chat exports and OTLP batches, a third each."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed, (name, maker) in enumerate(KINDS.items()):
        rng = random.Random(seed)
        written = number = 0
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
            while written < megabytes * 1_000_000 / len(KINDS):
                written += file.write(json.dumps(maker(rng, number)) + "\n")
                number += 1


def start(folder: Path, home: Path) -> subprocess.Popen[bytes]:
    """Start the night in a process of its own."""
    arguments = ["nightly", str(folder), "--agent", "bench", "--night", "2026-11-28", "--json"]
    environment = {**os.environ, "WHILEAI_HOME": str(home), "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(
        [*COMMAND, *arguments],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def watch(process: subprocess.Popen[bytes], peak: dict[str, float]) -> None:
    """Keep the largest resident memory of the process and its children, in MiB.

    Prefect's temporary server is a child too and is counted apart.
    """
    while process.poll() is None:
        sizes = [(pid, rss) for pid, parent, rss in processes() if process.pid in (pid, parent)]
        own = sum(rss for pid, rss in sizes if pid == process.pid)
        peak["night"] = max(peak.get("night", 0), own)
        peak["Prefect's server"] = max(
            peak.get("Prefect's server", 0), sum(rss for _, rss in sizes) - own
        )
        time.sleep(0.1)


def processes() -> list[tuple[int, int, float]]:
    """List (pid, parent, resident MiB) of every process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                lines = (entry / "status").read_text().splitlines()
            except OSError:
                continue
            fields = dict(line.split(":", 1) for line in lines if ":" in line)
            resident = int(fields.get("VmRSS", "0 kB").split()[0]) / 1024
            found.append((int(entry.name), int(fields["PPid"]), resident))
    return found


def run(folder: Path, home: Path) -> tuple[float, dict[str, float]]:
    """Run a night to its end; return seconds and peak memory."""
    peak: dict[str, float] = {}
    began = time.monotonic()
    process = start(folder, home)
    watcher = threading.Thread(target=watch, args=(process, peak))
    watcher.start()
    _, errors = process.communicate()
    watcher.join()
    if process.returncode:
        raise SystemExit(errors.decode())
    return time.monotonic() - began, peak


def held(home: Path) -> list[Any]:
    """Describe what the platform of a home holds: names, lineage and the hash of the rows."""
    os.environ["WHILEAI_HOME"] = str(home)
    from whileai_core import sync

    listing = sync.datasets()["datasets"]
    names = {entry["datasetId"]: entry["name"] for entry in listing}
    found = []
    for entry in listing:
        with tempfile.TemporaryDirectory() as folder:
            path = sync.pull(entry["datasetId"], f"{folder}/rows.jsonl")
            digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        parent = names.get(entry["parentDatasetId"])
        found.append((entry["name"], entry["purpose"], entry["rows"], parent, digest))
    return sorted(found)


def main() -> None:
    """Make traffic, or run, kill and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--make", type=Path)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.make:
        make(options.make, options.megabytes)
        return
    size = sum(path.stat().st_size for path in options.folder.rglob("*") if path.is_file()) / 1e6
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as whole, tempfile.TemporaryDirectory() as broken:
        seconds, peak = run(options.folder, Path(whole))
        shown = ", ".join(f"{name} {value:.0f} MiB" for name, value in peak.items())
        print(f"undisturbed: {size:.0f} MB, peak memory {shown}", flush=True)
        for _ in range(options.kills):
            process = start(options.folder, Path(broken))
            moment = rng.uniform(0.1, 0.95)
            time.sleep(moment * seconds)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            print(f"killed at {moment:.0%} of an undisturbed run", flush=True)
        run(options.folder, Path(broken))
        expected, found = held(Path(whole)), held(Path(broken))
        left = [*Path(broken).rglob("*.tmp"), *(Path(broken) / "work").glob("*")]
        for name, purpose, rows, _, digest in found:
            print(f"{purpose:8} {name} {rows} rows {digest[:16]}")
        print(f"identical: {found == expected}, leftovers: {len(left)}")
    sys.exit(found != expected or bool(left))


if __name__ == "__main__":
    main()
