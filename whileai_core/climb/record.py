"""The numbers of one round, put together from what its steps left."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.rows import Row
    from whileai_core.simulation.references import AgentSpec


def round_record(
    number: int,
    *,
    agent: AgentSpec,
    agent_before: AgentSpec | None,
    simulated: dict[str, Any],
    judged: dict[str, Any],
    rows: Sequence[Row],
    pushed: dict[str, Any],
    held: Sequence[Row],
    held_before: Sequence[Row] | None,
) -> dict[str, Any]:
    """Return what is to be known of a round.

    Returns:
        `round`, `agent`, `agent_changed`, `rows`, `graded`, `failed`, `pass_at_1` and `held_out`
        (each `{rate, low, high, n, tasks}`), `aim` (per failure signature: planned, landed,
        failed, interval), `comparison` with the round before on the same held-out tasks (see
        `paired_difference`), `dataset` (id, parent, refusal), `stopped_because`, `warnings`,
        `degraded`.
    """
    from whileai_core.quality import paired_difference
    from whileai_core.quality.grades import label_of
    from whileai_core.simulation.aim import aim_results

    labels = [label for label in map(label_of, rows) if label is not None]
    return {
        "round": number,
        "agent": agent.to_dict(),
        "agent_changed": agent_before is not None and agent != agent_before,
        "rows": len(rows),
        "graded": len(labels),
        "failed": labels.count(0),
        "pass_at_1": _rate(rows),
        "held_out": _rate(held),
        "aim": aim_results(simulated["search"].get("aim", []), rows),
        "comparison": None if held_before is None else paired_difference(held_before, held),
        "dataset": pushed,
        "stopped_because": simulated["stopped_because"],
        "warnings": [*simulated["warnings"], *judged["warnings"]],
        "degraded": simulated["degraded"],
    }


def _rate(rows: Sequence[Row]) -> dict[str, Any] | None:
    """Return the mean over tasks of their pass rates with its interval, or None if ungraded."""
    from whileai_core.quality import Tally, task_rate_interval

    groups = list(Tally.of(rows).graded.values())
    interval = task_rate_interval([g.passed for g in groups], [g.graded for g in groups])
    if interval is None:
        return None
    return {
        "rate": sum(group.rate for group in groups) / len(groups),
        "low": interval.low,
        "high": interval.high,
        "n": sum(group.graded for group in groups),
        "tasks": len(groups),
    }
