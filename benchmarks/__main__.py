"""All speed comparisons, each a ratio against a named baseline of the same run.

    python -m benchmarks [--small]

`--small` shrinks the inputs to see that everything runs; ratios of small inputs mean little.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks import traffic

FOLDER = Path(__file__).parent


def main() -> None:
    """Run every script in a process of its own."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--small", action="store_true")
    small = parser.parse_args().small
    rows = 2_000 if small else 100_000
    with tempfile.TemporaryDirectory() as folder:
        spans = Path(folder, "spans.jsonl")
        traffic.write_lines(spans, traffic.otlp_batch, rows // 10)
        night = Path(folder, "night")
        scripts = [
            ["bench_load.py", "--rows", str(rows)],
            ["bench_otel.py", str(spans)],
            ["bench_traces.py", "--rows", str(rows)],
            ["bench_leakage.py", "speed", "--n", str(rows // 10)],
            ["bench_leakage.py", "study", "--pairs", "400" if small else "4000"],
            ["bench_redaction.py", "--rows", "200" if small else "2000"],
            ["bench_quality.py", "--rows", str(rows)],
            ["night.py", "--make", str(night), "--megabytes", "3" if small else "1000"],
            ["night.py", str(night), "--kills", "1" if small else "3"],
            ["bench_orchestration.py", str(night)],
        ]
        for script, *arguments in scripts:
            print(f"\n== {script} {' '.join(arguments)}", flush=True)
            name = f"benchmarks.{script.removesuffix('.py')}"
            subprocess.run([sys.executable, "-m", name, *arguments], cwd=FOLDER.parent, check=True)


if __name__ == "__main__":
    main()
