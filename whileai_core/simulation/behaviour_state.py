"""Where an agent stands, by region of behaviour: what fails now, what it has got over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whileai_core.dialects.instants import instant
from whileai_core.rows import Row
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.faults import fault_of_call
from whileai_core.traces.labels import binary, label_of

_WEIGHTS = {
    "new": 1.0,
    "persistent": 0.9,
    "uncertain": 0.35,
    "improving": 0.2,
    "solved": 0.05,
    "passing": 0.05,
}
_ENOUGH_FAILS = 6
_LOW_SUPPORT = 3


@dataclass(slots=True)
class _Region:
    """Labels of one region, before the latest bucket and in it."""

    earlier: list[int]
    latest: list[int]
    targeted: bool = False

    @property
    def fails(self) -> int:
        return self.earlier.count(0) + self.latest.count(0)

    @property
    def graded(self) -> int:
        return len(self.earlier) + len(self.latest)

    @property
    def status(self) -> str:
        if not self.fails:
            return "passing"
        if not self.latest:
            return "uncertain"
        if 0 not in self.latest:
            return "solved" if self.targeted else "improving"
        return "persistent" if 0 in self.earlier else "new"

    @property
    def priority(self) -> float:
        frequency = min(1.0, 0.5 + 0.5 * min(self.fails, _ENOUGH_FAILS) / _ENOUGH_FAILS)
        rate = (self.fails + 1) / (self.graded + 2)
        return _WEIGHTS[self.status] * frequency * (0.25 + 0.75 * rate)


def behavior_state(rows: Iterable[Row], *, exploration: float = 0.2) -> dict[str, dict[str, Any]]:
    """Return, per region of behaviour, how an agent does and how much attention that deserves.

    A row counts in `recover_after_<fault>` when it met a fault, else in `task:<first tool>`, and
    in each 0/1 marker of its `scores`. Rows are taken in the order of `ts`; the latest bucket is
    the last model version, or the second half where there is only one.

    Args:
        rows: Graded rows.
        exploration: Share of a run that is not aimed.

    Returns:
        Region to `status`, `fails`, `graded`, `priority`, `budget_share`, `low_support` and
        `rotate_coordinates` (aimed at before, and failing still), highest priority first.
    """
    ordered = sorted(rows, key=lambda row: instant(row.get("ts")))  # traces spell it in any way
    regions: dict[str, _Region] = {}
    for row, is_latest in zip(ordered, _latest(ordered), strict=True):
        for name, label in _labels(row).items():
            region = regions.setdefault(name, _Region([], []))
            (region.latest if is_latest else region.earlier).append(label)
            steering = row.get("steering")
            region.targeted |= isinstance(steering, dict) and steering.get("origin") == "targeted"
    total = sum(region.priority for region in regions.values())
    ranked = sorted(regions.items(), key=lambda item: -item[1].priority)
    return {
        name: {
            "status": region.status,
            "fails": region.fails,
            "graded": region.graded,
            "priority": round(region.priority, 4),
            "budget_share": round((1 - exploration) * region.priority / total, 4),
            "low_support": region.graded < _LOW_SUPPORT,
            "rotate_coordinates": region.targeted and region.status == "persistent",
        }
        for name, region in ranked
    }


def _latest(rows: Sequence[Row]) -> list[bool]:
    """Tell for each row whether it is of the latest bucket."""
    versions = [row.get("model_version") for row in rows]
    if len(set(versions)) > 1:
        return [version == versions[-1] for version in versions]
    return [2 * place >= len(rows) for place in range(len(rows))]


def _labels(row: Row) -> Mapping[str, int]:
    labels: dict[str, int] = {}
    scores = row.get("scores")
    for name, score in scores.items() if isinstance(scores, dict) else ():
        if (marker := binary(score)) is not None:
            labels[str(name)] = marker
    label = label_of(row)
    if label is not None:
        calls = list(tool_calls(row))
        faults = [fault for call in calls if (fault := fault_of_call(call)) is not None]
        tool = calls[0].tool if calls else "no-tool"
        labels[f"recover_after_{faults[0]}" if faults else f"task:{tool}"] = label
    return labels
