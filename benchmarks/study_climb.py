"""How well an aimed run finds again what a cold run found: every kind of flaw, five seeds.

    python -m benchmarks.study_climb [--budget 96] [--seeds 5] [--mode explore] [--rows 10000]

An agent by rule with one planted flaw is rolled out cold, its flaw rows are aimed at, and both
runs are graded by the flaw. The bar: the failing share of the aimed run is at least 40 %, and at
least the smaller of four times the cold share and 55 %; at least 20 % of its rows pass; there are
as many rows as the budget; no row is a copy of a trace; each failing signature failed again
(`again`: of all seeds). `met` counts the seeds that reach it.

Then: how many rows a second, pairs covered, whether rows are the same at concurrency 1 and 32, and
the leakage gate by itself.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import re
import time
from collections.abc import Callable
from typing import Any

from whileai_core import SimulationData, drop_leaky_rows, flaw_rows, simulate
from whileai_core.quality import wilson_interval
from whileai_core.rows import Row
from whileai_core.simulation.leak import LeakGate

FEWEST_FAILING, HIGHEST_BAR, FEWEST_PASSING = 0.40, 0.55, 0.20


def _tool(name: str, *required: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in required}
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"name": name, "description": "", "parameters": schema}


TOOLS = [
    _tool("lookup_order", "order_id"),
    _tool("cancel_order", "order_id"),
    _tool("create_ticket", "order_id", "subject"),
]


def clerk(message: str, world: Any) -> str:
    """Call the first tool the message names, else the first of all, and say what came back."""
    words = set(re.findall(r"[a-z]+", message.lower()))
    named = [tool for tool in TOOLS if set(tool["name"].split("_")) <= words] or TOOLS
    reference = re.search(r"\b[A-Z]{2,}-\d+\b", message)
    given = {"order_id": reference[0] if reference else "ORD-1", "subject": "help"}
    parameters = named[0]["parameters"]["properties"]
    answer = world.call(named[0]["name"], {name: given[name] for name in parameters})
    return f"{named[0]['name']} answered {answer.get('status')}."


def _answers(row: Row) -> list[dict[str, Any]]:
    return [step["result"] for step in row["steps"] if "tool" in step]


def _status(status: str) -> Callable[[Row], bool]:
    return lambda row: any(answer.get("status") == status for answer in _answers(row))


def _cell(axis: str, value: str) -> Callable[[Row], bool]:
    return lambda row: bool(row["scenario_dimensions"].get(axis) == value)


def _data(check: Callable[[Any], bool]) -> Callable[[Row], bool]:
    return lambda row: any(check(answer.get("data")) for answer in _answers(row))


def _called(tool: str) -> Callable[[Row], bool]:
    return lambda row: tool in row["tools_used"]


def _stale(row: Row) -> bool:
    return any(answer.get("stale") for answer in _answers(row))


def _any(*flaws: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: any(flaw(row) for flaw in flaws)


def _all(*flaws: Callable[[Row], bool]) -> Callable[[Row], bool]:
    return lambda row: all(flaw(row) for flaw in flaws)


FLAWS: dict[str, Callable[[Row], bool]] = {
    "fault: timeout": _status("timeout"),
    "fault: permission denied": _status("permission_denied"),
    "fault: malformed": _data(lambda data: isinstance(data, str)),
    "fault: stale": _stale,
    "state: exists": _cell("world_state", "entity exists"),
    "state: missing": _cell("world_state", "entity missing"),
    "state: already acted on": _cell("world_state", "entity already acted on"),
    "state: duplicate": _cell("world_state", "duplicate entity"),
    "state: partial": _cell("world_state", "partially completed"),
    "state: unknown": _cell("world_state", "unknown"),
    "answer: not found": _status("not_found"),
    "answer: already done": _status("already_done"),
    "answer: two matches": _data(lambda data: isinstance(data, dict) and "matches" in data),
    "answer: in progress": _data(
        lambda data: isinstance(data, dict) and data.get("status") == "in_progress"
    ),
    "tool: cancel": _called("cancel_order"),
    "tool: create": _called("create_ticket"),
    "stance: adversarial": _cell("stance", "adversarial"),
    "stance: hurried": _cell("stance", "hurried"),
    "stance: ordinary": _cell("stance", "ordinary"),
    "history: prior failure": _cell("history", "prior_failure"),
    "two: timeout, adversarial": _any(_status("timeout"), _cell("stance", "adversarial")),
    "two: denied, stale": _any(_status("permission_denied"), _stale),
    "two: tool, missing": _any(_called("cancel_order"), _status("not_found")),
    "one tool under timeout": _all(_called("cancel_order"), _status("timeout")),
    "one tool under denial": _all(_called("create_ticket"), _status("permission_denied")),
    "one tool under stale": _all(_called("lookup_order"), _stale),
}


def graded(data: SimulationData, flaw: Callable[[Row], bool]) -> list[Row]:
    """Return copies of the rows: reward 0 where the flaw shows."""
    return [{**row, "reward": 0 if flaw(row) else 1} for row in data]


def share(rows: list[Row]) -> float:
    """Return the failing share."""
    return sum(int(row["reward"] == 0) for row in rows) / max(1, len(rows))


async def climb(flaw: Callable[[Row], bool], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of one flaw and seed."""
    cold = graded(await simulate(clerk, tools=TOOLS, seed=seed, **options), flaw)
    traces = flaw_rows(cold)
    data = await simulate(clerk, tools=TOOLS, seed=seed, traces=traces, **options)
    rows = graded(data, flaw)
    failing = [entry for entry in data.aim(rows) if entry["signature"].startswith("label 0")]
    leaky = drop_leaky_rows(rows, traces)[1]["n_dropped"]
    bar = max(FEWEST_FAILING, min(4 * share(cold), HIGHEST_BAR))
    return {
        "cold": share(cold),
        "aimed": share(rows),
        "failed": sum(row["reward"] == 0 for row in rows),
        "rows": len(rows),
        "leaky": leaky,
        "signatures": len(failing),
        "again": sum(bool(entry["failed"]) for entry in failing),
        "met": share(rows) >= bar
        and 1 - share(rows) >= FEWEST_PASSING
        and len(rows) == options["budget"]
        and not leaky
        and all(entry["failed"] for entry in failing),
    }


async def study(seeds: int, options: dict[str, Any]) -> None:
    """Print the figures of every flaw."""
    print(f"{'flaw':28} {'cold':>11} {'aimed':>11}  95 % of all seeds   rows  leaky  again  met")
    for name, flaw in FLAWS.items():
        found = [await climb(flaw, seed, options) for seed in range(seeds)]
        cold, aimed = ([one[key] for one in found] for key in ("cold", "aimed"))
        rows = sum(one["rows"] for one in found)
        interval = wilson_interval(sum(one["failed"] for one in found), rows)
        assert interval is not None
        print(
            f"{name:28} {min(cold):5.2f}..{max(cold):.2f} {min(aimed):5.2f}..{max(aimed):.2f}"
            f"  [{interval.low:.3f}..{interval.high:.3f}] n={rows:<5}"
            f" {sum(one['leaky'] for one in found):5}"
            f" {sum(one['again'] for one in found):4}/{sum(one['signatures'] for one in found):<4}"
            f" {sum(one['met'] for one in found)}/{seeds}",
            flush=True,
        )


async def measures(n: int) -> None:
    """Print speed, coverage, distinct prompts and sameness."""
    started, used = time.perf_counter(), time.process_time()
    data = await simulate(lambda message: "All fine.", tools=TOOLS, budget=n)
    prompts = len({row["prompt"] for row in data})
    print(
        f"\n{len(data)} rows in {time.perf_counter() - started:.1f} s"
        f" ({time.process_time() - used:.1f} s of processor), {prompts} distinct prompts"
    )
    for budget in (64, 128):
        run = await simulate(clerk, tools=TOOLS, budget=budget)
        print(f"{budget} rows cover {run.report()['pairwise']['fraction']:.1%} of the pairs")
    runs = [await simulate(clerk, tools=TOOLS, budget=200, concurrency=c) for c in (1, 32)]
    one, many = ([{**row, "ts": 0} for row in run] for run in runs)
    print(f"the same rows at concurrency 1 and 32: {one == many}")
    used = time.process_time()
    gate = LeakGate(_asks(2_000, "sources"))
    rejected = sum(gate.rejects(_asks(n, "new asks")))
    print(
        f"leakage gate, {n} asks by 2,000 sources: {time.process_time() - used:.1f} s of processor,"
        f" {rejected} rejected"
    )


def _asks(n: int, seed: str) -> list[str]:
    """Return asks of 8 to 30 words, drawn from 3,000; without digits, which are no words."""
    drawn = random.Random(seed)
    syllables = [start + vowel for start in "bdfgklmnprstvz" for vowel in "aeiou"]
    words = [
        "".join(three) for three in itertools.islice(itertools.product(*[syllables] * 3), 3_000)
    ]
    return [" ".join(drawn.choices(words, k=drawn.randint(8, 30))) for _ in range(n)]


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=int, default=96)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--mode", default="explore")
    parser.add_argument("--rows", type=int, default=10_000)
    given = parser.parse_args()
    asyncio.run(study(given.seeds, {"budget": given.budget, "mode": given.mode}))
    asyncio.run(measures(given.rows))


if __name__ == "__main__":
    main()
