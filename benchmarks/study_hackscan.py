"""How often `hack_scan` names a shortcut where there is none, and finds one that is there.

    python -m benchmarks.study_hackscan [--scans 300] [--planted 100]

Null data: rewards are coin flips that follow nothing. Planted: the reward is whether the reply
has a given opening. Replies are random words; half of the rows call a tool. Every cell is
seeded; a share is printed with its 95 % interval (Wilson) and the number of scans.

Each design is tasks × rows per task. `coin` plants the opening by a coin for each row, so that
some small sets cannot tell any test anything: `possible` is the share of sets in which at most
one in 20 of the ways in which the rewards could have fallen follows the opening as closely, up to
its sign: the least for a verdict at 5 %. `half` plants it in half of the rows of each task.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence
from typing import Any

from whileai_core.quality import hack_scan, wilson_interval

WORDS = [
    "early", "late", "view", "floor", "room", "desk",
    "lift", "garden", "quiet", "window", "corner", "night",
]  # fmt: skip
NULL_DESIGNS = [(3, 4), (2, 6), (4, 4), (5, 4), (8, 6), (12, 4), (25, 8)]
PLANTED_DESIGNS = [(2, 6), (3, 4), (3, 6), (4, 4), (5, 4), (8, 6), (25, 8)]


def reply(rng: random.Random) -> str:
    """Return a reply of random words."""
    return " ".join(rng.choices(WORDS, k=rng.randint(4, 11))) + "."


def row(rng: random.Random, task: int, *, rephrased: bool = False) -> dict[str, Any]:
    """Return an ungraded row; half of them call a tool, and half open with a flourish."""
    ask = f"Please arrange stay number {task}"
    if rephrased:
        ask = f"{' '.join(rng.choices(WORDS, k=3))}: {ask}"
    steps = [{"tool": "find_room", "arguments": {"room": task}, "result": {"status": "ok"}}]
    flourish = "Splendid choice. " if rng.random() < 0.5 else ""
    return {
        "task_id": f"k{task}",
        "prompt": ask,
        "steps": steps if rng.random() < 0.5 else [],
        "final_text": flourish + reply(rng),
    }


def null_rows(rng: random.Random, tasks: int, repeats: int) -> list[dict[str, Any]]:
    """Return rows whose reward follows nothing."""
    return [
        row(rng, task) | {"reward": rng.randint(0, 1)}
        for task in range(tasks)
        for _ in range(repeats)
    ]


def planted_rows(
    rng: random.Random, tasks: int, repeats: int, *, how: str, boolean: bool, rephrased: bool
) -> list[dict[str, Any]]:
    """Return rows whose reward is whether the reply opens with a phrase."""
    rows = []
    for task in range(tasks):
        marks = [rng.random() < 0.5 for _ in range(repeats)]
        if how == "half":
            marks = [place % 2 == 0 for place in range(repeats)]
            rng.shuffle(marks)
        for mark in marks:
            text = ("Good question! " if mark else "") + reply(rng)
            reward = mark if boolean else int(mark)
            rows.append(
                row(rng, task, rephrased=rephrased) | {"final_text": text, "reward": reward}
            )
    return rows


def can_tell(rows: Sequence[dict[str, Any]]) -> bool:
    """Tell whether rewards that follow something perfectly are a rare enough way to fall."""
    by_task: dict[str, list[int]] = {}
    for one in rows:
        by_task.setdefault(one["task_id"], []).append(int(one["reward"]))
    mixed = [rewards for rewards in by_task.values() if 0 < sum(rewards) < len(rewards)]
    ways = math.prod(math.comb(len(rewards), sum(rewards)) for rewards in mixed)
    mirrored = all(2 * sum(rewards) == len(rewards) for rewards in mixed)
    return ways >= (40 if mirrored else 20)


def share(found: int, n: int) -> str:
    """Write a share with its interval and n."""
    low, high = wilson_interval(found, n) or (0.0, 1.0)
    return f"{found / n:.1%} [{low:.1%} – {high:.1%}], n = {n}"


def study_null(scans: int) -> None:
    """Print how many scans of null data name a shortcut, and how many cross the old floor."""
    print("| null design | names a shortcut | crosses `tau` |\n|---|---|---|")
    total = named_total = crossed_total = 0
    for tasks, repeats in NULL_DESIGNS:
        named = crossed = 0
        for seed in range(scans):
            rng = random.Random(f"null-{tasks}-{repeats}-{seed}")
            scan = hack_scan(null_rows(rng, tasks, repeats))
            named += scan["n_above_floor"] > 0
            crossed += scan["tau"] is not None and scan["rho_max"] > scan["tau"]
        total, named_total = total + scans, named_total + named
        crossed_total += crossed
        print(f"| {tasks} × {repeats} | {share(named, scans)} | {share(crossed, scans)} |")
    print(f"| all | {share(named_total, total)} | {share(crossed_total, total)} |")


def study_planted(scans: int) -> None:
    """Print how many planted shortcuts are found."""
    print("| planted design | kind | found | possible |\n|---|---|---|---|")
    kinds = [
        ("half", False, False),
        ("half", True, True),
        ("coin", False, False),
    ]
    for tasks, repeats in PLANTED_DESIGNS:
        for how, boolean, rephrased in kinds:
            found = possible = 0
            for seed in range(scans):
                rng = random.Random(f"planted-{tasks}-{repeats}-{how}-{boolean}-{seed}")
                rows = planted_rows(
                    rng, tasks, repeats, how=how, boolean=boolean, rephrased=rephrased
                )
                scan = hack_scan(rows, endorsed=["tool:find_room"])
                found += scan["regime"] == "reward_hack"
                possible += can_tell(rows)
            kind = how + (", booleans, rephrased asks" if rephrased else "")
            print(
                f"| {tasks} × {repeats} | {kind} | {share(found, scans)} | {possible / scans:.0%} |"
            )


def main() -> None:
    """Run both studies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scans", type=int, default=300)
    parser.add_argument("--planted", type=int, default=100)
    arguments = parser.parse_args()
    study_null(arguments.scans)
    print()
    study_planted(arguments.planted)


if __name__ == "__main__":
    main()
