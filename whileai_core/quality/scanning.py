"""The rewards of graded rows by task, and how columns of features follow them inside tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whileai_core.quality.columns import Column, is_binary
from whileai_core.quality.facts import facts_of
from whileai_core.quality.grades import grade_of
from whileai_core.quality.permutation import (
    Conjunctions,
    all_orders,
    grouping_of,
    shuffles,
    shuffles_in_turn,
    strongest_by_chance,
    strongest_places,
)
from whileai_core.quality.reports import Report
from whileai_core.quality.tasks import task_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from whileai_core.quality.facts import Facts
    from whileai_core.quality.tasks import Task
    from whileai_core.rows import Row

SAME = 0.999  # correlation from which two columns are one signal
_SMALL = 2000  # rows up to which shuffles cost next to nothing
_SHUFFLES = ((100, 2000), (_SMALL, 1000))  # up to how many rows, how many; beyond: `n_perm`
_MOST_ORDERS = 2000  # up to which all orders of the rewards are looked at instead of shuffles
_TIE = 2e-6  # between strengths that are the same in single precision
_RANK_DIGITS = 6
_TASKS_NAMED = 5
_ROUNDING = 1e-9
_ONE_SIDED = 1.645  # normal quantile of 95 %


class Finding(NamedTuple):
    """A column beside how it follows the reward.

    Attributes:
        column: The column.
        rho: Correlation inside tasks.
        endorsed: Whether the reward is meant to follow it.
        documented: Whether it is seen in `min_obs` rows.
    """

    column: Column
    rho: float
    endorsed: bool
    documented: bool

    @property
    def strength(self) -> float:
        """Size of the correlation, rounded so that equal ones are equal."""
        return round(abs(self.rho), _RANK_DIGITS)


class Search(NamedTuple):
    """What is searched.

    Attributes:
        endorsed: Parts of names of features that are meant to be rewarded.
        seeds: How many of the strongest yes/no columns are combined in pairs.
        least: Rows in which a combination has to be seen.
        min_obs: Rows in which a documented column is seen.
    """

    endorsed: Sequence[str]
    seeds: int
    least: int
    min_obs: int


class Scan:
    """Graded rows put in order task by task, and how columns follow their rewards.

    Args:
        rows: Graded rows.
        reward: Key of the reward.
        facts: What was read in the rows, if that was done before.

    Attributes:
        order: Where each row stood.
        rows: The rows, those of a task side by side; every column is in this order.
        facts: What was read in them.
        grouping: Where each task starts and how long it is.
        disagree: Whether the rewards of any task differ.
    """

    def __init__(
        self, rows: Sequence[Row], reward: str, facts: Sequence[Facts] | None = None
    ) -> None:
        import numpy as np

        tasks = (
            [fact.task for fact in facts]
            if facts
            else [task_of(row, position) for position, row in enumerate(rows)]
        )
        self.order, self.grouping = grouping_of(tasks)
        self.rows = [rows[place] for place in self.order]
        self.facts = [facts[place] for place in self.order] if facts else facts_of(self.rows)
        self._tasks: list[Task] = [tasks[place] for place in self.order]
        self._rewards = np.array([grade_of(row, reward) for row in self.rows], dtype=float)
        self._centred = self.grouping.centred(self._rewards)
        length = math.sqrt(float(self._centred @ self._centred))
        self.disagree = length > _ROUNDING
        self._direction = self._centred / (length or 1.0)
        self._unit: NDArray[np.float32] = np.zeros((0, len(rows)), dtype=np.float32)
        self._documented: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._binary: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._conjunctions: Conjunctions | None = None

    def report_of_groups(self, n_rows: int, n_perm: int) -> Report:
        """Return what can be said without looking at a feature, and the keys for the rest."""
        sizes = self.grouping.sizes
        several = sizes[sizes > 1]
        continuous = bool(((self._rewards != 0) & (self._rewards != 1)).any())
        return Report(
            regime="unknown",
            n_rows=n_rows,
            n_graded=len(self.rows),
            n_groups=len(sizes),
            n_groups_multi=len(several),
            rollouts_per_group=_upper_median((several if len(several) else sizes).tolist()),
            **self._support(),
            tau=None,
            tau_calibrated=None,
            n_perm=n_perm,
            min_obs_used=None,
            n_features=0,
            n_above_floor=0,
            top_feature=None,
            rho_max=0.0,
            endorsed_matched=0,
            endorsed_known=True,
            endorsed_on_top=None,
            integrity=None,
            integrity_calibrated=None,
            continuous_reward=continuous,
            degenerate=False,
            distinct_per_ask=self._distinct_replies(),
            features=[],
            inverted=[],
            tasks=[],
            warnings=[],
        )

    def _support(self) -> dict[str, object]:
        """Return how much the tasks tell: shares that always, never and sometimes pass."""
        import numpy as np

        starts, sizes = self.grouping.starts, self.grouping.sizes
        if not len(sizes):
            nothing = dict.fromkeys(("sat", "dead", "mixed", "capacity"), 0.0)
            return {"effective_rollouts": 0, "support": nothing}
        high = np.maximum.reduceat(self._rewards, starts)
        low = np.minimum.reduceat(self._rewards, starts)
        variance = np.add.reduceat(self._centred**2, starts) / sizes
        return {
            "effective_rollouts": int(sizes[high > low].sum()),
            "support": {
                "sat": float((low >= 1).mean()),
                "dead": float((high <= 0).mean()),
                "mixed": float((high > low).mean()),
                "capacity": float(variance.mean() / 0.25),
            },
        }

    def _distinct_replies(self) -> int:
        counts: dict[bool, list[int]] = {True: [], False: []}
        for start, stop in self._spans():
            replies = {(fact.text, fact.tools) for fact in self.facts[start:stop]}
            counts[stop - start > 1].append(len(replies))
        return _upper_median(counts[True] or counts[False])

    def _spans(self) -> Iterator[tuple[int, int]]:
        """Yield where each task starts and stops."""
        ends = (self.grouping.starts + self.grouping.sizes).tolist()
        return zip(self.grouping.starts.tolist(), ends, strict=True)

    def look(self, columns: Sequence[Column], search: Search) -> list[Finding]:
        """Correlate columns, and the ANDs of the strongest yes/no ones, with the reward."""
        import numpy as np

        self._unit = np.zeros((len(columns), len(self.rows)), dtype=np.float32)
        findings = []
        for place, column in enumerate(columns):
            unit = self._unit_of(column)
            self._unit[place] = unit
            endorsed = matches(column, search.endorsed)
            findings.append(self._finding(column, unit, search, endorsed=endorsed))
        self._documented = np.array([finding.documented for finding in findings], dtype=bool)
        binary = [place for place, column in enumerate(columns) if is_binary(column)]
        self._binary = np.array(binary, dtype=np.int64)
        if search.seeds > 1 and len(binary) > 1:
            values = np.array([columns[place].values for place in binary], dtype=np.float32)
            self._conjunctions = Conjunctions(self.grouping, values)
            findings += self._ands(
                self._conjunctions, [findings[place] for place in binary], search
            )
        return findings

    def _unit_of(self, column: Column) -> NDArray[np.float64]:
        """Return a column centred in tasks and of length 1; all 0 if it varies in no task."""
        centred = self.grouping.centred(column.values.astype(float))
        length = math.sqrt(float(centred @ centred))
        largest = max(1.0, abs(float(column.values.max())), abs(float(column.values.min())))
        if length <= _ROUNDING * largest:
            return centred * 0
        return centred / length

    def _finding(
        self, column: Column, unit: NDArray[np.float64], search: Search, *, endorsed: bool
    ) -> Finding:
        return Finding(
            column,
            float(unit @ self._direction),
            endorsed,
            column.n_obs >= search.min_obs,
        )

    def _ands(
        self, conjunctions: Conjunctions, binary: Sequence[Finding], search: Search
    ) -> list[Finding]:
        """Return the ANDs of two of the strongest columns that are stronger than both."""
        import numpy as np

        sizes = np.array([finding.strength for finding in binary])
        which = np.sort(strongest_places(sizes, search.seeds))
        direction = self._direction.astype(np.float32)
        strengths = np.abs(conjunctions.strengths(which, direction, search.least))
        found = []
        for i, j in zip(*np.triu_indices(len(which), 1), strict=True):
            one, two = binary[which[i]], binary[which[j]]
            if strengths[i, j] <= max(one.strength, two.strength) + 1e-6:
                continue
            values = one.column.values * two.column.values
            name = f"{one.column.name} & {two.column.name}"
            column = Column(name, values, int(np.count_nonzero(values)))
            unit = self._unit_of(column)
            found.append(self._finding(column, unit, search, endorsed=one.endorsed or two.endorsed))
        return found

    def floors(
        self, search: Search, *, n_perm: int, alpha: float, seed: int
    ) -> tuple[float | None, float]:
        """Return the documented floor, None without a documented column, and the calibrated one."""
        small = len(self.rows) <= _SMALL
        every = all_orders(self.grouping, self._rewards, _MOST_ORDERS) if small else None
        wanted = (shuffled for rows, shuffled in _SHUFFLES if len(self.rows) <= rows)
        number = max(n_perm, next(wanted, n_perm))
        chance = strongest_by_chance(
            shuffles(self.grouping, self._rewards, number, seed)
            if every is None
            else iter([every]),
            self._unit,
            self._documented,
            binary=self._binary,
            conjunctions=self._conjunctions,
            seeds=search.seeds,
            least=search.least,
        )
        if every is None:
            calibrated = float(chance.whole[-_allowed_above(number, alpha)])
        else:  # the share of orders that do as well as the rewards found is exact
            calibrated = float(chance.whole[-int(alpha * len(every)) - 1]) + _TIE
        if not self._documented.any():
            return None, calibrated
        if small:
            drawn = shuffles_in_turn(self.grouping, self._rewards, n_perm, seed)
            chance = strongest_by_chance(drawn, self._unit, self._documented)
        place = math.ceil((1 - alpha) * len(chance.documented)) - 1
        return float(chance.documented[place]), calibrated

    def pooled(self, finding: Finding) -> float:
        """Return the correlation over all rows, whatever their task."""
        a = finding.column.values - finding.column.values.mean()
        b = self._rewards - self._rewards.mean()
        scale = math.sqrt(float((a @ a) * (b @ b)))
        return float(a @ b) / scale if scale > 0 else 0.0

    def twins(self, findings: Sequence[Finding], of: Sequence[Finding]) -> set[str]:
        """Return the names of findings that are, inside tasks, the same signal as one of `of`."""
        import numpy as np

        if not findings or not of:
            return set()
        ours = np.array([self._unit_of(finding.column) for finding in findings])
        theirs = np.array([self._unit_of(finding.column) for finding in of])
        same = np.abs(ours @ theirs.T).max(axis=1) >= SAME
        return {f.column.name for f, twin in zip(findings, same.tolist(), strict=True) if twin}

    def tasks_following(self, finding: Finding) -> list[Task]:
        """Return the first few tasks in which rewards disagree and the feature varies."""
        values, tasks = finding.column.values, []
        for start, stop in self._spans():
            if _varies(values[start:stop]) and _varies(self._rewards[start:stop]):
                tasks.append(self._tasks[start])
                if len(tasks) == _TASKS_NAMED:
                    break
        return tasks


def _allowed_above(number: int, alpha: float) -> int:
    """Return the place of the floor among the shuffles, counted from the strongest.

    It is the upper 95 % confidence limit of the quantile: the same shuffles are drawn for every
    scan of a seed, and an unlucky draw must not raise the share of false alarms above alpha.
    """
    expected = alpha * (number + 1)
    return max(1, int(expected - _ONE_SIDED * math.sqrt(expected * (1 - alpha))))


def matches(column: Column, endorsed: Sequence[str]) -> bool:
    """Tell whether a pattern is part of a column's name or of an alias, case ignored."""
    names = [name.lower() for name in column.names]
    return any(pattern.lower() in name for pattern in endorsed for name in names)


def _varies(values: NDArray[np.float64]) -> bool:
    return bool(values.min() < values.max())


def _upper_median(numbers: Sequence[int]) -> int:
    return sorted(numbers)[len(numbers) // 2] if numbers else 0
