"""What a simulation returns: its rows and all that is to be known about how they came about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.atomic import write_atomic
from whileai_core.rows import Row
from whileai_core.simulation.aim import aim_results
from whileai_core.simulation.covering import Axes
from whileai_core.simulation.situations import pair_coverage

if TYPE_CHECKING:
    from whileai_core.quality import PassRates
    from whileai_core.simulation.judges import Judge
    from whileai_core.simulation.scored import ScoredData
    from whileai_core.simulation.selection import Selection


class Rows(list[Row]):
    """A list of rows that may also be called, which gives the same rows."""

    def __call__(self) -> list[Row]:
        return list(self)


@dataclass
class SimulationData:
    """The rows of a simulation; iterating gives them.

    Attributes:
        rows: The rows, ungraded unless the run had a grader.
        stopped_because: `budget`, `time_budget`, `situations_exhausted`, `tasks_done`,
            `writer_exhausted`, `agent_failed`, `endpoint_dead` or `spend_exhausted`.
        warnings: What went wrong or is worth knowing, as sentences.
        degraded: The same as flags: `rollouts_lost`, `agent_errors`, `no_tool_calls`,
            `dead_tools`, `same_model`, `writer_fell_back`.
        search: How situations were found: `rollouts`, `aim` (with what landed, and failed where
            there was a grader), `trace_leakage`, `trace_mining`, `behavior_state`, `avoided`,
            `spend`.
        dimensions: The grid.
        knobs: The settings the run went by.
    """

    rows: Rows
    stopped_because: str
    warnings: list[str] = field(default_factory=list)
    degraded: list[str] = field(default_factory=list)
    search: dict[str, Any] = field(default_factory=dict)
    dimensions: Axes = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def report(self) -> dict[str, Any]:
        """Return the run in numbers."""
        grid = [
            dimensions
            for row in self.rows
            if (dimensions := row["scenario_dimensions"]).keys() == self.dimensions.keys()
        ]
        return {
            "rows": len(self.rows),
            "unique_prompts": len({row["prompt"] for row in self.rows}),
            "unique_scenario_ids": len({row["scenario_id"] for row in self.rows}),
            "stopped_because": self.stopped_because,
            "pairwise": pair_coverage(self.dimensions, grid),
            "knobs": self.knobs,
            "search": self.search,
            "degraded": self.degraded,
            "warnings": self.warnings,
        }

    def pass_at(self, k: int | None = None, *, min_k: int = 4) -> PassRates:
        """Return pass rates with intervals, at the k that half of the repeated tasks reach."""
        from whileai_core.simulation.scored import pass_at_reached

        return pass_at_reached(self.rows, k, min_k=min_k)

    async def grade(self, judge: Judge, **options: Any) -> ScoredData:
        """Return scored copies; the rows here stay as they are.

        Args:
            judge: As for `evaluate`.
            options: Further arguments of `evaluate`.
        """
        from whileai_core.simulation.evaluating import evaluate

        return await evaluate(self.rows, judge, source="grade", **options)

    def aim(self, graded: object = None) -> list[dict[str, Any]]:
        """Return, per failure signature, what was planned, what landed and what of that failed.

        Args:
            graded: The rows with grades, if they are elsewhere (a `ScoredData`).
        """
        rows = list(self.rows if graded is None else graded)  # type: ignore[call-overload]
        return aim_results(self.search.get("aim", ()), rows)

    def select(self, mode: str = "rl") -> Selection:
        """Return the rows to train on (see `whileai_core.simulation.selection.select_rows`)."""
        from whileai_core.simulation.selection import select_rows

        return select_rows(self.rows, mode)

    async def push(self, name: str, *, gate: bool = True, **options: Any) -> dict[str, Any]:
        """Upload the rows as a dataset; the options are those of `push_rows`."""
        from whileai_core.platform import push_rows

        return await push_rows(self.rows, name, gate=gate, **options)

    def save(self, path: str | Path) -> Path:
        """Write the rows as JSON lines and return the path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, b"".join(map(jsonio.dumps_line, self.rows)))
        return target
