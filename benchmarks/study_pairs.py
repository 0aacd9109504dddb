"""How often the interval of a paired difference holds the true difference.

    python -m benchmarks.study_pairs [--draws 2000]

Tasks are as hard as a Beta distribution makes them; the second agent mends a share of the tasks
or is as good as the first. Seeded: the same table every time.
"""

from __future__ import annotations

import argparse
import itertools
import random
from typing import Any

from whileai_core.quality.pairs import paired_difference

_TASKS, _ROLLOUTS, _RATES, _MENDED = (6, 12, 20, 50), (1, 4, 8), (0.1, 0.5, 0.9), (0.0, 0.3)


def _rows(rates: list[float], rollouts: int, rng: random.Random) -> list[dict[str, Any]]:
    return [
        {"scenario_id": str(task), "reward": int(rng.random() < rate)}
        for task, rate in enumerate(rates)
        for _ in range(rollouts)
    ]


def coverage(
    tasks: int, rollouts: int, rate: float, mended: float, draws: int
) -> tuple[float, float]:
    """Return the share of intervals that hold the expected difference, and their mean width."""
    rng = random.Random(f"{tasks} {rollouts} {rate} {mended}")
    truth = mended * (1 - rate)
    held, width = 0, 0.0
    for _ in range(draws):
        before = [rng.betavariate(4 * rate, 4 * (1 - rate)) for _ in range(tasks)]
        after = [1.0 if rng.random() < mended else p for p in before]
        found = paired_difference(_rows(before, rollouts, rng), _rows(after, rollouts, rng))
        low, high = found["ci95"]
        held += low <= truth <= high
        width += high - low
    return held / draws, width / draws


def main() -> None:
    """Print one line per cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--draws", type=int, default=2000)
    draws = parser.parse_args().draws
    print("tasks rollouts  rate mended  covered  width")
    for tasks, rollouts, rate, mended in itertools.product(_TASKS, _ROLLOUTS, _RATES, _MENDED):
        covered, width = coverage(tasks, rollouts, rate, mended, draws)
        print(f"{tasks:5} {rollouts:8} {rate:5.1f} {mended:6.1f} {covered:8.1%} {width:6.2f}")


if __name__ == "__main__":
    main()
