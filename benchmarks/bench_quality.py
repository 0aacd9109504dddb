"""What the publish gate, the hack scan and the profile cost, as ratios to parsing the same rows.

    python -m benchmarks.bench_quality [--rows 100000] [--repeats 8] [--pairs 5]

The baseline is `orjson.loads` over every line into a kept list, with the cyclic collector paused,
interleaved with the work; ratios are medians with their range. Rows are made here and seeded:
tasks of `--repeats` graded rollouts, each with a few tool calls and a reply of some thirty words.
"""

from __future__ import annotations

import argparse
import gc
import random
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any

import orjson

from whileai_core.quality import hack_scan, pass_at, preview_report, profile_report, publish_gate

TOOLS = ["search_catalog", "check_stock", "send_email", "create_ticket", "refund_order"]
LETTERS = "abcdefghiklmnoprstuvw"


def vocabulary(rng: random.Random, count: int) -> list[str]:
    """Return made-up words."""
    return ["".join(rng.choices(LETTERS, k=rng.randint(3, 9))) for _ in range(count)]


def rollout(rng: random.Random, words: list[str], task: int, prompt: str) -> dict[str, Any]:
    """Return one graded row."""
    steps = [
        {
            "tool": rng.choice(TOOLS),
            "arguments": {"order_id": f"A-{rng.randint(10000, 99999)}", "amount": rng.random()},
            "result": {
                "status": rng.choice(["ok", "ok", "ok", "timeout"]),
                "total": round(rng.random() * 1000, 2),
                "history": [
                    {"at": rng.randint(1, 10**9), "event": " ".join(rng.choices(words, k=4))}
                    for _ in range(rng.randint(1, 3))
                ],
            },
        }
        for _ in range(rng.randint(1, 4))
    ]
    return {
        "schema_version": "1",
        "scenario_id": f"s{task:06d}",
        "prompt": prompt,
        "steps": steps,
        "final_text": " ".join(rng.choices(words, k=rng.randint(15, 45))).capitalize() + ".",
        "reward": int(rng.random() < (task % 10) / 9),
    }


def lines(n: int, repeats: int) -> list[bytes]:
    """Return rows as JSON lines."""
    rng = random.Random(0)
    words = vocabulary(rng, 3000)
    made = []
    for position in range(n):
        if position % repeats == 0:
            prompt = " ".join(rng.choices(words, k=rng.randint(10, 25))) + f" {position}?"
        made.append(orjson.dumps(rollout(rng, words, position // repeats, prompt)))
    return made


def parse(data: list[bytes]) -> list[Any]:
    """Return the parsed lines; the baseline."""
    gc.disable()
    try:
        return [orjson.loads(line) for line in data]
    finally:
        gc.enable()


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Print one line per operation."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--rows", type=int, default=100_000)
    options.add_argument("--repeats", type=int, default=8)
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--only", default="")
    chosen = options.parse_args()
    data = lines(chosen.rows, chosen.repeats)
    rows = parse(data)
    work: dict[str, Callable[[], object]] = {
        "publish_gate": lambda: publish_gate(rows, mode="rl"),
        "publish_gate, holdout 0.2": lambda: publish_gate(rows, mode="rl", holdout=0.2),
        "hack_scan": lambda: hack_scan(rows),
        "pass_at": lambda: pass_at(rows),
        "profile_report": lambda: profile_report(rows),
        "preview_report": lambda: preview_report(rows, mode="rl"),
    }
    print(f"{len(rows)} rows of {sum(map(len, data)) // len(data)} bytes, k = {chosen.repeats}")
    for name, call in work.items():
        if chosen.only and chosen.only != name:
            continue
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        ratios = [seconds(call) / seconds(lambda: parse(data)) for _ in range(chosen.pairs)]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
        print(
            f"{name}: {statistics.median(ratios):.1f} × parse "
            f"({min(ratios):.1f} – {max(ratios):.1f}), peak grew by {grown} MB"
        )


if __name__ == "__main__":
    main()
