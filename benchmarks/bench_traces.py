"""Mining, report, split and harness: time as a ratio to named baselines, and peak memory.

    python -m benchmarks.bench_traces [--rows 20000] [--pairs 5] [--only mine_traces]

Baselines run over the same rows in the same process, interleaved with the operation:

dump    `json.dumps` of every tool result once, with one reused encoder
walk    a bare loop over rows and steps that reads the tool name and one result key

Ratios are medians over the pairs, with their range. Memory is the peak above the input's,
per row and as a share of the rows. The rows are generated and seeded.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

from whileai_core import (
    flaw_rows,
    infer_harness,
    mine_traces,
    split_pseudo_production,
    tools_from_traces,
    trace_report,
)

Row = dict[str, Any]

WORDS = [
    "status",
    "route",
    "depot",
    "carrier",
    "window",
    "balance",
    "ledger",
    "clerk",
    "notice",
    "queue",
    "region",
    "batch",
    "parcel",
    "scan",
    "vendor",
    "shelf",
    "permit",
    "escort",
    "margin",
    "branch",
    "harbor",
    "folder",
    "signal",
    "ticket",
    "stage",
    "credit",
    "bundle",
]
TOOLS = [f"{verb}_{noun}" for verb in ("find", "update", "cancel") for noun in ("order", "refund")]


def sentence(rng: random.Random, n: int) -> str:
    return " ".join(rng.choices(WORDS, k=n))


def result(rng: random.Random) -> dict[str, Any]:
    if rng.random() < 0.08:
        return {"error": rng.choice(("timeout", "not_found")), "detail": sentence(rng, 5)}
    events = [
        {"at": 1_700_000_000 + rng.randint(0, 9_999_999), "event": sentence(rng, 4)}
        for _ in range(rng.randint(1, 4))
    ]
    total = round(rng.uniform(1, 900), 2)
    return {"status": rng.choice(("open", "held", "sent")), "total": total, "history": events}


def call(rng: random.Random) -> dict[str, Any]:
    arguments: dict[str, Any] = {"order_id": f"A-{rng.randint(1000, 99999)}"}
    if rng.random() < 0.6:
        arguments["amount"] = round(rng.uniform(1, 900), 2)
    if rng.random() < 0.3:
        arguments["lines"] = rng.choices(WORDS, k=2)
    return {"tool": rng.choice(TOOLS), "arguments": arguments, "result": result(rng)}


def agent_row(rng: random.Random, number: int) -> Row:
    steps: list[dict[str, Any]] = []
    for _ in range(rng.randint(2, 6)):
        steps.append(call(rng))
        if rng.random() < 0.25:
            steps.append({"text": sentence(rng, rng.randint(6, 20))})
    row: Row = {
        "scenario_id": f"s{number // 4:07d}",
        "prompt": f"Please {sentence(rng, 9)} {rng.randint(1000, 99999)}.",
        "steps": steps,
        "final_text": sentence(rng, rng.randint(12, 60)),
    }
    if rng.random() < 0.8:
        row["reward"] = rng.choice((0, 1, 1))
    return row


def dump(rows: list[Row]) -> None:
    encode = json.JSONEncoder().encode
    for row in rows:
        for step in row["steps"]:
            if "result" in step:
                encode(step["result"])


def walk(rows: list[Row]) -> None:
    for row in rows:
        for step in row["steps"]:
            step.get("tool")
            value = step.get("result")
            if value is not None:
                value.get("status")


OPERATIONS: dict[str, tuple[Callable[[list[Row]], Any], Callable[[list[Row]], None], float]] = {
    "mine_traces": (mine_traces, dump, 4.0),
    "trace_report": (trace_report, dump, 4.0),
    "flaw_rows": (flaw_rows, dump, 1.2),
    "split_pseudo_production": (split_pseudo_production, dump, 4.0),
    "tools_from_traces": (tools_from_traces, walk, 1.7),
    "infer_harness": (infer_harness, walk, 2.8),
}


def seconds(function: Callable[[list[Row]], Any], rows: list[Row]) -> float:
    start = time.perf_counter()
    function(rows)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", choices=OPERATIONS)
    options = parser.parse_args()
    rng = random.Random(7)
    tracemalloc.start()
    rows = [agent_row(rng, number) for number in range(options.rows)]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    gc.collect()
    gc.freeze()
    print(
        f"{'operation':<26}{'ratio':>7}  {'range':<13}{'goal':>5} base   {'B/row':>6}{'share':>8}"
    )
    for name, (operation, baseline, goal) in OPERATIONS.items():
        if options.only not in (None, name):
            continue
        ratios = sorted(
            seconds(operation, rows) / seconds(baseline, rows) for _ in range(options.pairs)
        )
        tracemalloc.start()
        operation(rows)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        spread = f"{ratios[0]:.2f}-{ratios[-1]:.2f}"
        print(
            f"{name:<26}{statistics.median(ratios):>7.2f}  {spread:<13}{goal:>5} "
            f"{baseline.__name__:<6}{peak / len(rows):>7.0f}{peak / held:>8.1%}"
        )


if __name__ == "__main__":
    main()
