"""When a climb has come to its end, and the sentence that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.quality.wording import points_text

if TYPE_CHECKING:
    from collections.abc import Sequence


def stop_reason(rounds: Sequence[dict[str, Any]], *, most: int) -> tuple[str, str] | None:
    """Return why a climb ends after its latest round, as a code and a sentence, or None.

    Args:
        rounds: Records of the rounds so far (see `Climb.finish`), at least one.
        most: Rounds the plan allows.

    Returns:
        `no_flaws` (no graded row of the round failed), `plateau` (the agent changed and the
        held-out tasks show no gain beyond noise), `rounds`; or None to go on. A round that could
        not be finished ends the climb by `CutShort` instead.
    """
    last = rounds[-1]
    if last["graded"] and not last["failed"]:
        return "no_flaws", f"none of the {last['graded']} graded rows of the round failed"
    comparison = last["comparison"]
    if last["agent_changed"] and comparison is not None and not _gained(comparison):
        return "plateau", _plateau(comparison)
    if last["round"] >= most:
        return "rounds", f"all {most} rounds are done"
    return None


def _gained(comparison: dict[str, Any]) -> bool:
    interval = comparison["ci95"]
    # Too few tasks to tell is no evidence of a plateau.
    return interval is None or interval[0] > 0


def _plateau(comparison: dict[str, Any]) -> str:
    return (
        f"the new agent is no better than noise on {comparison['n_tasks']} held-out tasks: "
        f"{points_text(comparison['difference'], comparison['ci95'])}"
    )
