"""The situations of an earlier run, to be asked once more."""

from __future__ import annotations

from collections import Counter

from whileai_core.errors import InputError
from whileai_core.rows import task_key
from whileai_core.simulation.situations import (
    REPLAY,
    Situation,
    default_world_seed,
    tier_of,
    world_seed_of,
)
from whileai_core.traces.intake import rows_of
from whileai_core.traces.values import plain_text


def situations_to_replay(tasks: object, seed: int) -> tuple[list[Situation], int]:
    """Return every distinct prompt of some rows as a situation, and the most rollouts of one.

    The world is the one the prompt met then: its faults, its state, its seed.

    Args:
        tasks: Rows in any form the trace operations take.
        seed: Seed of worlds whose rows do not name one.

    Raises:
        InputError: There is no prompt in it.
    """
    situations: dict[tuple[str, str], Situation] = {}
    times: Counter[tuple[str, str]] = Counter()
    for row in rows_of(tasks):
        prompt = plain_text(row.get("prompt"))
        if not prompt.strip():
            continue
        identity = task_key(row) or prompt
        key = identity, prompt
        times[key] += 1
        if key in situations:
            continue
        stated = row.get("scenario_dimensions")
        if not isinstance(stated, dict) or "origin" in stated:
            stated = {}  # an ask outside the grid, whose values are read off each rollout
        assignment = {str(axis): str(value) for axis, value in stated.items()}
        faults = row.get("faults") or row.get("faults_scheduled")
        situations[key] = Situation(
            id=identity,
            assignment=assignment,
            tier=plain_text(row.get("tier")) or tier_of(assignment.get("stance")),
            faults=faults if isinstance(faults, dict) else {},
            origin=REPLAY,
            world_seed=world_seed_of(row) or default_world_seed(seed, identity),
            prompt=prompt,
            writer=plain_text(row.get("writer_model")) or "seed",
            world_state=plain_text(row.get("world_state")) or assignment.get("world_state"),
        )
    if not situations:
        raise InputError("tasks= holds no prompt; pass the rows of an earlier run")
    return list(situations.values()), max(times.values())
