"""Situations: what a prompt is about, what its world does, and which to try next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whileai_core.errors import InputError
from whileai_core.rows import Row
from whileai_core.simulation import chance
from whileai_core.simulation.covering import (
    Assignment,
    Axes,
    Pair,
    all_pairs,
    covering_array,
    pairs_of,
    scenario_id,
)
from whileai_core.simulation.faults import Plan, plan_for
from whileai_core.simulation.verbs import Verb, is_destructive, verb_of
from whileai_core.traces.dimensions import SPECIAL_TOOLS, UNSPECIFIED

SUCCESS = "success"
ORDINARY = "ordinary"
# Origins of situations that the engine treats apart.
PROBE, SEED, REPLAY = "probe", "seed", "replay"
HARD_TIERS = ("ambiguous", "boundary", "adversarial")
_TIER_OF_STANCE = {
    "ambiguous": "ambiguous", "unsure": "ambiguous", "vague": "ambiguous",
    "underspecified": "ambiguous", "boundary": "boundary", "conflicting": "boundary",
    "adversarial": "adversarial", "malicious": "adversarial", "forbidden": "adversarial",
}  # fmt: skip
_PUSHING = frozenset({"boundary", "adversarial", "conflicting"})
_KEPT_FAULTS = 0.1  # share of fault cells that stay so once their pairs are covered
_COUNT_WEIGHT = _RISK_WEIGHT = 0.5
_NO_STATE = frozenset({UNSPECIFIED, "unknown", ""})


@dataclass(frozen=True, slots=True)
class Situation:
    """One cell of the grid, or an ask outside it, as it is rolled out.

    Attributes:
        id: The scenario id.
        assignment: Axis to value; empty for asks outside the grid.
        tier: How hard its stance makes it.
        faults: The plan of its world.
        origin: `explore`, `aimed`, `twin`, `contrast`, `probe`, `seed` or `replay`.
        prompt: The ask, where it is settled before a writer is asked.
        brief: What the writer should know beyond the assignment.
        parent: The flaw this situation was aimed at.
        steering: What aimed it, for the row.
        world_seed: What its world depends on.
        writer: Who wrote `prompt`.
    """

    id: str
    assignment: Assignment
    tier: str
    faults: Plan
    origin: str
    world_seed: str
    prompt: str | None = None
    brief: str | None = None
    parent: str | None = None
    steering: Mapping[str, Any] | None = None
    writer: str | None = None
    world_state: str | None = None


def tier_of(stance: str | None) -> str:
    """Return the tier of a stance; one that is not known is ordinary."""
    return _TIER_OF_STANCE.get(stance or "", ORDINARY)


def world_seed_of(row: Row) -> str | None:
    """Return what the world of a simulated row depended on; None for a row of another origin."""
    if "world_seed" in row:
        return str(row["world_seed"])
    seed, identity = row.get("seed"), row.get("scenario_id")
    return None if seed is None or identity is None else default_world_seed(seed, identity)


def default_world_seed(seed: object, identity: object) -> str:
    """Return what a world depends on, unless it is to be another one's again."""
    return f"{seed}:{identity}"


def situation_of(assignment: Assignment, *, origin: str, seed: int, **more: Any) -> Situation:
    """Return the situation of a cell, with the faults its tool condition promises."""
    identity = scenario_id(assignment)
    tool = assignment.get("tool")
    state = assignment.get("world_state")
    faults = more.pop("faults", None)
    if faults is None:
        named = None if tool in SPECIAL_TOOLS else tool
        faults = plan_for(assignment.get("tool_condition", SUCCESS), named)
    return Situation(
        id=identity,
        assignment=assignment,
        tier=tier_of(assignment.get("stance")),
        faults=faults,
        origin=origin,
        world_seed=more.pop("world_seed", None) or default_world_seed(seed, identity),
        world_state=None if state in _NO_STATE else state,
        **more,
    )


@dataclass(slots=True)
class _Cell:
    """A cell the explorer may pick, and how often it was."""

    assignment: Assignment
    tier: str
    risk: float
    pairs: frozenset[Pair]
    faulted: bool
    visits: int = 0


@dataclass(slots=True)
class Explorer:
    """Picks cells from the whole grid: first what covers new pairs, then by weight.

    While pairs are uncovered, each pick takes the cell that covers most of them, with at most a
    `fault_rate` share of cells under a fault. Later picks are weighted draws, each cell as often
    as the others; of those under a fault nine in ten are turned to success (`flip`).
    Situations in `avoid` are never picked.

    Raises:
        InputError: There is no situation that is not to be avoided.
    """

    axes: Axes
    seed: int
    fault_rate: float
    hard_share: float
    flip: bool
    avoid: frozenset[str] = frozenset()
    _pools: dict[tuple[str, bool], list[_Cell]] = field(default_factory=dict)
    _wanted: set[Pair] = field(default_factory=set)
    _picks: int = 0
    _faulted: int = 0
    _tiers: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        known: dict[str, _Cell] = {}
        for assignment in covering_array(self.axes):
            healthy = {**assignment, "tool_condition": SUCCESS}
            faulted = assignment.get("tool_condition", SUCCESS) != SUCCESS
            variants = [assignment] if not faulted or self.fault_rate > 0 else []
            if faulted and SUCCESS in self.axes["tool_condition"]:
                variants.append(healthy)
            for variant in variants:
                known.setdefault(scenario_id(variant), _cell(variant))
        cells = [cell for identity, cell in known.items() if identity not in self.avoid]
        if not cells:
            raise InputError("avoid= takes up every situation of the grid; hold out fewer rows")
        self._pools = {
            (tier, faulted): [
                cell for cell in cells if cell.tier == tier and cell.faulted == faulted
            ]
            for tier in (ORDINARY, *HARD_TIERS)
            for faulted in (False, True)
        }
        self._wanted = all_pairs(self.axes) & {pair for cell in cells for pair in cell.pairs}

    def pick(self) -> Situation:
        """Return the next situation."""
        tier = self._tier()
        cell = self._uncovering(tier) or self._drawn(tier)
        cell.visits += 1
        self._picks += 1
        self._faulted += cell.faulted
        self._tiers[cell.tier] += 1
        self._wanted -= cell.pairs
        return situation_of(dict(cell.assignment), origin="explore", seed=self.seed)

    def _tier(self) -> str:
        """Return the tier whose turn it is, so that `hard_share` of the picks are hard."""
        ordinary = round((self._picks + 1) * (1 - self.hard_share))
        present = [
            tier
            for tier in (ORDINARY, *HARD_TIERS)
            if self._pools[tier, False] or self._pools[tier, True]
        ]
        hard = [tier for tier in present if tier != ORDINARY]
        if ORDINARY in present and (self._tiers[ORDINARY] < ordinary or not hard):
            return ORDINARY
        return min(hard, key=lambda tier: self._tiers[tier])

    def _uncovering(self, tier: str) -> _Cell | None:
        """Return the cell that covers most pairs anew, None when there is none."""
        left = self._wanted
        if not left:
            return None
        cells = [*self._pools[tier, False], *self._pools[tier, True]]
        may_fault = self._faulted < self.fault_rate * (self._picks + 1)
        gains = [
            (len(cell.pairs & left), self._key(cell), place)
            for place, cell in enumerate(cells)
            if may_fault or not cell.faulted
        ]
        gain, _, place = max(gains, default=(0, 0.0, 0))
        return cells[place] if gain else None

    def _drawn(self, tier: str) -> _Cell:
        """Return a cell by weight among those visited least."""
        share = self.fault_rate * (_KEPT_FAULTS if self.flip else 1.0)
        wants_fault = chance.share(self.seed, "fault", self._picks) < share
        pool = self._pools[tier, wants_fault] or self._pools[tier, not wants_fault]
        fewest = min(cell.visits for cell in pool)
        least = [cell for cell in pool if cell.visits == fewest]
        return max(least, key=self._key)

    def _key(self, cell: _Cell) -> float:
        weight = _COUNT_WEIGHT / (1 + cell.visits) ** 2 + _RISK_WEIGHT * cell.risk
        return chance.weighted_key(weight, self.seed, self._picks, *cell.assignment.values())


def pair_coverage(axes: Axes, assignments: list[Mapping[str, str]]) -> dict[str, Any]:
    """Return how many of the grid's pairs of values some assignments cover."""
    planned = all_pairs(axes)
    covered = {pair for assignment in assignments for pair in pairs_of(assignment)} & planned
    return {
        "pairs_planned": len(planned),
        "pairs_covered": len(covered),
        "fraction": len(covered) / len(planned) if planned else 1.0,
    }


def _cell(assignment: Assignment) -> _Cell:
    return _Cell(
        assignment,
        tier_of(assignment.get("stance")),
        _risk(assignment),
        frozenset(pairs_of(assignment)),
        assignment.get("tool_condition", SUCCESS) != SUCCESS,
    )


def _risk(assignment: Assignment) -> float:
    """Return how much is at stake: most where something is undone under pressure or a fault."""
    tool = assignment.get("tool", "")
    if is_destructive(tool):
        faulted = assignment.get("tool_condition", SUCCESS) != SUCCESS
        return 1.0 if faulted or assignment.get("stance") in _PUSHING else 0.3
    if tool == SPECIAL_TOOLS[0] or (tool not in SPECIAL_TOOLS and verb_of(tool) is Verb.READ):
        return 0.1
    return 0.2
