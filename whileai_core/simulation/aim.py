"""What became of the situations a run aimed at flaws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from whileai_core.quality import wilson_interval
from whileai_core.rows import Row
from whileai_core.simulation.signatures import lies_in
from whileai_core.traces.labels import label_of


def aim_results(aim: Iterable[Mapping[str, Any]], rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Return, per failure signature, what was planned, what landed and what of that failed.

    A row has landed when it met what it was aimed at: the fault, the state, the tool, the stance.

    Args:
        aim: `search["aim"]` of a run.
        rows: Its rows, graded or not.

    Returns:
        The entries with `landed`, `n` (landed rows with a label), `failed` (None when there are
        none) and `interval`, Wilson's of the failing share.
    """
    aimed: dict[str, list[Row]] = {}
    for row in rows:
        steering = row.get("steering")
        if isinstance(steering, dict) and steering.get("origin") == "targeted":
            aimed.setdefault(str(steering.get("signature")), []).append(row)
    return [_result(entry, aimed.get(entry["signature"], [])) for entry in aim]


def _result(entry: Mapping[str, Any], rows: list[Row]) -> dict[str, Any]:
    landed = [row for row in rows if lies_in(row, entry["fixed"])]
    labels = [label for row in landed if (label := label_of(row)) is not None]
    failed = labels.count(0)
    interval = wilson_interval(failed, len(labels))
    return {
        **entry,
        "landed": len(landed),
        "n": len(labels),
        "failed": failed if labels else None,
        "interval": list(interval) if interval else None,
    }
