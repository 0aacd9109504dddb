"""Judged rows as one result, and the pass rates a run's result object gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.quality.grades import is_partial
from whileai_core.quality.passrates import PassRates, pass_at
from whileai_core.traces.labels import binary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.rows import Row
    from whileai_core.simulation.selection import Selection


@dataclass(frozen=True)
class ScoredData:
    """Copies of rows with rewards, in the order of the rows; iterating gives them.

    Attributes:
        rows: The scored copies.
        warnings: What went wrong or is worth knowing.
        eval_coverage: Of an evaluation set: `eval_set`, `covered` and the first `missing` asks.
    """

    rows: list[Row]
    warnings: list[str] = field(default_factory=list)
    eval_coverage: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def passes(self) -> list[Row]:
        """Rows with reward 1."""
        return [row for row in self.rows if binary(row.get("reward")) == 1]

    def failures(self) -> list[Row]:
        """Rows with reward 0."""
        return [row for row in self.rows if binary(row.get("reward")) == 0]

    @property
    def traces(self) -> list[Row]:
        """The failures, what the next simulation aims at."""
        return self.failures()

    def failed_traces(self) -> list[Row]:
        """The failures."""
        return self.failures()

    def partials(self) -> list[Row]:
        """Rows with a reward between 0 and 1."""
        return [row for row in self.rows if is_partial(row)]

    def unjudged(self) -> list[Row]:
        """Rows without a verdict; `judge_status` says why."""
        return [row for row in self.rows if row.get("judge_status") != "ok"]

    def pass_at(self, k: int | None = None, *, min_k: int = 4) -> PassRates:
        """Return pass rates with intervals (see `pass_at_reached`)."""
        return pass_at_reached(self.rows, k, min_k=min_k)

    def select(self, mode: str = "rl") -> Selection:
        """Return the rows to train on (see `whileai_core.simulation.selection.select_rows`)."""
        from whileai_core.simulation.selection import select_rows

        return select_rows(self.rows, mode)

    async def push(self, name: str, **options: Any) -> dict[str, Any]:
        """Upload the rows as a dataset; the options are those of `push_rows`."""
        from whileai_core.platform import push_rows

        return await push_rows(self.rows, name, **options)


def pass_at_reached(rows: Sequence[Row], k: int | None = None, *, min_k: int = 4) -> PassRates:
    """Return `pass_at` at the largest k that half of the repeated tasks reach.

    The shortest repeated task, which `pass_at` goes by, would leave no pass^k for runs that give
    unanimous tasks two rollouts and mixed ones all.
    """
    rates = pass_at(rows, k, min_k)
    common = rates["common_k"]
    if k is None and common is not None and common["k"] > rates["k"]:
        return pass_at(rows, common["k"], min_k)
    return rates
