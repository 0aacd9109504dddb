"""Aims situations at what failed: per failure signature, with clean twins for contrast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whileai_core.rows import Row
from whileai_core.simulation.covering import Assignment, Axes, diagonal
from whileai_core.simulation.faults import plan_for
from whileai_core.simulation.sandbox import EXISTS, UNKNOWN
from whileai_core.simulation.signatures import Flaw, common_causes, flaws_of, lies_in
from whileai_core.simulation.situations import SUCCESS, Situation, situation_of
from whileai_core.traces.dimensions import SPECIAL_TOOLS, UNSPECIFIED
from whileai_core.traces.labels import label_of

EXPLORATION = 0.2
_AIMED_PER_TWIN = 2.5  # under three, so that repeats and rounding leave a fifth of a run clean
_CONTRAST = 0.5  # share of the exploration that meets faults the agent has handled before
_VARIANT = "a different person with the same kind of request, in other words"

# What a twin is instead of what makes its sibling fail; a tool becomes any other one.
_PLAIN_VALUES = {
    "world_state": EXISTS,
    "tool": None,
    "stance": "ordinary",
    "history": "fresh",
    "rule": UNSPECIFIED,
}

EXPLORE, AIMED, TWIN, CONTRAST = "explore", "aimed", "twin", "contrast"


class Focus:
    """Picks the aimed situations of a run.

    Args:
        rows: The traces; rows that passed tell what does not cause failures.
        axes: The grid.
        seed: Seed of the run.
        exploration: Share of situations drawn from the whole grid instead.
    """

    def __init__(self, rows: Sequence[Row], axes: Axes, seed: int, exploration: float) -> None:
        self._axes = axes
        self._seed = seed
        self._causes = common_causes(rows, axes)
        flaws = flaws_of(rows, axes, self._causes)
        self.targets = [flaw for flaw in flaws if not flaw.handled]
        self.handled = [flaw for flaw in flaws if flaw.handled]
        self._weights = [flaw.weight * _fail_rate(flaw, rows, axes) for flaw in self.targets]
        self._aimed = [0] * len(self.targets)
        self._twins = [0] * len(self.targets)
        self._contrasts = 0
        self.shares = self._shares(exploration)

    @property
    def has_untried(self) -> bool:
        """Whether some signature has not been aimed at yet."""
        return 0 in self._aimed

    def pick(self, kind: str) -> Situation:
        """Return the next situation that is aimed at a flaw, its clean twin, or a contrast."""
        if kind == TWIN:
            return self._twin()
        if kind == CONTRAST:
            self._contrasts += 1
            place = (self._contrasts - 1) % len(self.handled)
            return self._situation(self.handled[place], self._contrasts, CONTRAST)
        place = self._next_target()
        self._aimed[place] += 1
        return self._situation(self.targets[place], self._aimed[place], AIMED)

    def entries(self, planned: Mapping[str, int]) -> list[dict[str, Any]]:
        """Return what is aimed at, for `aim_results` to be filled in with what came of it.

        Args:
            planned: Signature to rollouts that were planned for it.
        """
        return [
            {
                "signature": flaw.signature.text,
                "parent_failure_id": flaw.parents[0],
                "n_traces": flaw.n,
                "weight": flaw.weight,
                "fixed": dict(flaw.fixed),
                "planned": planned.get(flaw.signature.text, 0),
            }
            for flaw in self.targets
        ]

    def _shares(self, exploration: float) -> dict[str, float]:
        if not self.targets:
            contrast = EXPLORATION if self.handled else 0.0
            return {EXPLORE: 1 - contrast, CONTRAST: contrast}
        contrast = exploration * _CONTRAST if self.handled else 0.0
        rest = 1 - exploration
        aimed = rest * _AIMED_PER_TWIN / (1 + _AIMED_PER_TWIN)
        return {
            AIMED: aimed,
            EXPLORE: exploration - contrast,
            TWIN: rest - aimed,
            CONTRAST: contrast,
        }

    def _next_target(self) -> int:
        """Return the target that is furthest behind its share; each gets one before any two."""
        untried = [place for place, times in enumerate(self._aimed) if times == 0]
        if untried:
            return untried[0]
        total, done = sum(self._weights), sum(self._aimed) + 1
        behind = [
            done * weight / total - times
            for weight, times in zip(self._weights, self._aimed, strict=True)
        ]
        return behind.index(max(behind))

    def _situation(self, flaw: Flaw, step: int, kind: str) -> Situation:
        assignment = self._cell(flaw, step)
        tool = assignment["tool"]
        elsewhere = flaw.fault_tool not in (None, tool)
        named = None if tool in SPECIAL_TOOLS or elsewhere else tool
        parent = (step - 1) % flaw.n
        # Which references exist in a world of unknown state depends on its seed alone.
        world_seed = flaw.worlds[parent] if assignment["world_state"] == UNKNOWN else None
        return situation_of(
            assignment,
            origin=kind,
            seed=self._seed,
            faults=plan_for(assignment["tool_condition"], named),
            world_seed=world_seed,
            parent=flaw.parents[parent],
            steering={
                "origin": "targeted" if kind == AIMED else kind,
                "weight": round(flaw.weight, 4),
                "signature": flaw.signature.text,
            },
            brief=_VARIANT if flaw.is_capability else None,
        )

    def _cell(self, flaw: Flaw, step: int) -> Assignment:
        """Return a cell with all that is known of a flaw; the other axes take turns."""
        fixed = dict(flaw.fixed)
        if "world_state" not in fixed and EXISTS in self._axes["world_state"]:
            fixed["world_state"] = EXISTS
        if flaw.is_capability and flaw.histories:
            fixed.setdefault("history", flaw.histories[(step - 1) % len(flaw.histories)])
        free = {axis: values for axis, values in self._axes.items() if axis not in fixed}
        turns = diagonal(free, step, self._seed, flaw.signature.text)
        return {axis: fixed.get(axis) or turns[axis] for axis in self._axes}

    def _twin(self) -> Situation:
        """Return a situation that differs from an aimed one in just what makes it fail."""
        owed = [aimed / (1 + twins) for aimed, twins in zip(self._aimed, self._twins, strict=True)]
        place = owed.index(max(owed))
        self._twins[place] += 1
        flaw, step = self.targets[place], self._twins[place]
        assignment = self._cell(flaw, step)
        if SUCCESS in self._axes["tool_condition"]:
            assignment["tool_condition"] = SUCCESS
        if EXISTS in self._axes["world_state"]:
            assignment["world_state"] = EXISTS
        for axis, plain in _PLAIN_VALUES.items():
            if self._is_guilty(axis, assignment[axis]):
                assignment[axis] = self._without_cause(axis, plain, step)
        return situation_of(
            assignment,
            origin=TWIN,
            seed=self._seed,
            faults={},
            steering={"origin": TWIN, "signature": flaw.signature.text},
        )

    def _is_guilty(self, axis: str, value: str) -> bool:
        """Tell whether a value may make an agent fail; no tool or two may mean a guilty one."""
        blames_a_tool = any(cause == "tool" for cause, _ in self._causes)
        return (axis, value) in self._causes or (value in SPECIAL_TOOLS and blames_a_tool)

    def _without_cause(self, axis: str, plain: str | None, step: int) -> str:
        innocent = [value for value in self._axes[axis] if (axis, value) not in self._causes]
        if plain in innocent:
            return str(plain)
        named = [value for value in innocent if value not in SPECIAL_TOOLS] or innocent
        return named[step % len(named)] if named else self._axes[axis][0]


def _fail_rate(flaw: Flaw, rows: Sequence[Row], axes: Axes) -> float:
    """Return the Laplace estimate of how often rows like those of a flaw fail."""
    alike = [row for row in rows if lies_in(row, flaw.fixed, axes)]
    failed = sum(label_of(row) != 1 for row in alike)
    return (failed + 1) / (len(alike) + 2)
