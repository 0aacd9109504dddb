"""How strongly a column follows the reward inside tasks, and what chance alone would reach.

Correlations are taken after centring both sides in their task. The null is that the rewards of
a task could have fallen on its rows in any order: they are shuffled inside tasks, and whatever
is done to find the strongest column is done again on each shuffle, the search for conjunctions
of two columns included. The floor is the quantile of these maxima (Westfall and Young, 1993).
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

_SHUFFLED_AT_ONCE = 4_000_000  # numbers
_GROUPS_AT_ONCE = 256
_LONGEST = 50  # rows of a task of which all orders are listed


class Grouping(NamedTuple):
    """Rows of tasks side by side.

    Attributes:
        starts: Where each task starts.
        sizes: How many rows each task has.
    """

    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]

    def centred(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values less the mean of their task (along the last axis)."""
        import numpy as np

        if not len(self.sizes):
            return values
        means = np.add.reduceat(values, self.starts, axis=-1) / self.sizes
        centred: NDArray[np.float64] = values - np.repeat(means, self.sizes, axis=-1)
        return centred


def grouping_of(tasks: Sequence[object]) -> tuple[list[int], Grouping]:
    """Return the order that puts the rows of a task side by side, and the tasks in that order.

    Tasks come in the order in which they are first met, rows of a task in theirs.
    """
    import numpy as np

    numbers: dict[object, int] = {}
    number = np.array([numbers.setdefault(task, len(numbers)) for task in tasks], dtype=np.int64)
    sizes = np.bincount(number, minlength=len(numbers))
    starts = np.cumsum(sizes) - sizes
    return np.argsort(number, kind="stable").tolist(), Grouping(starts, sizes)


def shuffles(
    grouping: Grouping, rewards: NDArray[np.float64], number: int, seed: int
) -> Iterator[NDArray[np.float32]]:
    """Yield blocks of centred rewards of length 1, shuffled inside tasks; one row per shuffle."""
    import numpy as np

    rng = np.random.default_rng(seed)
    centred = grouping.centred(rewards)
    unit = (centred / math.sqrt(float((centred**2).sum()))).astype(np.float32)
    places = [
        grouping.starts[grouping.sizes == size][:, None] + np.arange(size)
        for size in np.unique(grouping.sizes).tolist()
        if size > 1
    ]
    at_once = max(1, min(number, _SHUFFLED_AT_ONCE // max(1, len(unit))))
    for start in range(0, number, at_once):
        block = np.repeat(unit[None, :], min(at_once, number - start), axis=0)
        for where in places:
            drawn = block[:, where]
            rng.permuted(drawn, axis=-1, out=drawn)
            block[:, where] = drawn
        yield block


def all_orders(
    grouping: Grouping, rewards: NDArray[np.float64], most: int
) -> NDArray[np.float32] | None:
    """Return centred rewards of length 1 in every order inside tasks; None if there are too many.

    One row per order, the given one among them; rewards that are equal are not told apart.

    Args:
        grouping: The tasks.
        rewards: The rewards, in the grouping's order.
        most: How many orders there may be.
    """
    import numpy as np

    centred = grouping.centred(rewards)
    unit = centred / math.sqrt(float((centred**2).sum()))
    ends = (grouping.starts + grouping.sizes).tolist()
    found = np.zeros((1, 0))
    for start, end in zip(grouping.starts.tolist(), ends, strict=True):
        values = sorted(unit[start:end].tolist())
        if values[0] == values[-1]:
            orders: list[tuple[float, ...]] | None = [tuple(values)]
        else:
            orders = _orders(values, most // len(found)) if len(values) <= _LONGEST else None
        if orders is None:
            return None
        each, task = np.repeat(found, len(orders), axis=0), np.tile(orders, (len(found), 1))
        found = np.concatenate((each, task), axis=1)
    return found.astype(np.float32)


def _orders(values: list[float], most: int) -> list[tuple[float, ...]] | None:
    """Return the distinct orders of sorted values, None if they are more than `most`."""
    if not values:
        return [()] if most else None
    found: list[tuple[float, ...]] = []
    for place, value in enumerate(values):
        if place and value == values[place - 1]:
            continue
        rest = _orders(values[:place] + values[place + 1 :], most - len(found))
        if rest is None:
            return None
        found += [(value, *order) for order in rest]
    return found


class Conjunctions:
    """The ANDs of pairs of binary columns, correlated without ever being written out.

    Args:
        grouping: The tasks.
        columns: Binary columns, one per row of the array, in the grouping's order.
    """

    def __init__(self, grouping: Grouping, columns: NDArray[np.float32]) -> None:
        import numpy as np

        self.columns = columns
        self._counts = (columns @ columns.T).astype(np.float64)
        self._lengths = np.sqrt(np.maximum(self._counts - _between(grouping, columns), 0.0))
        self._lengths[self._lengths < 1e-6] = np.inf

    def strengths(
        self, which: NDArray[np.int64], reward: NDArray[np.float32], least: int
    ) -> NDArray[np.float64]:
        """Return the correlation of every pair of the columns `which` with a unit reward.

        Pairs seen in fewer than `least` rows, and a column with itself, have 0.
        """
        import numpy as np

        picked = self.columns[which]
        pairs = np.ix_(which, which)
        found: NDArray[np.float64] = ((picked * reward) @ picked.T) / self._lengths[pairs]
        found[self._counts[pairs] < least] = 0.0
        np.fill_diagonal(found, 0.0)
        return found


def _between(grouping: Grouping, columns: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return, per pair, the sum over tasks of (rows with both)² / rows."""
    import numpy as np

    total = np.zeros((len(columns), len(columns)))
    for size in np.unique(grouping.sizes).tolist():
        starts = grouping.starts[grouping.sizes == size]
        for first in range(0, len(starts), _GROUPS_AT_ONCE):
            where = starts[first : first + _GROUPS_AT_ONCE, None] + np.arange(size)
            rows = columns[:, where].transpose(1, 0, 2)  # task, column, row of the task
            both = rows @ rows.transpose(0, 2, 1)
            total += np.einsum("gij,gij->ij", both, both) / size
    return total


def shuffles_in_turn(
    grouping: Grouping, rewards: NDArray[np.float64], number: int, seed: int
) -> Iterator[NDArray[np.float32]]:
    """Yield what `shuffles` yields, drawn in the documented way: slowly, and for small sets.

    One generator of the standard library shuffles task after task, each time what the last
    shuffle left.
    """
    import numpy as np

    rng = random.Random(seed)  # noqa: S311 - a statistic, not a secret
    centred = grouping.centred(rewards)
    unit = centred / math.sqrt(float((centred**2).sum()))
    ends = (grouping.starts + grouping.sizes).tolist()
    groups = [
        unit[start:end].tolist() for start, end in zip(grouping.starts.tolist(), ends, strict=True)
    ]
    drawn = []
    for _ in range(number):
        for group in groups:
            rng.shuffle(group)
        drawn.append([value for group in groups for value in group])
    yield np.array(drawn, dtype=np.float32)


class Chance(NamedTuple):
    """The strongest correlation of each shuffle, sorted: of the first columns, and of all."""

    documented: NDArray[np.float64]
    whole: NDArray[np.float64]


def strongest_by_chance(
    drawn: Iterator[NDArray[np.float32]],
    unit: NDArray[np.float32],
    documented: NDArray[np.bool_],
    *,
    binary: NDArray[np.int64] | None = None,
    conjunctions: Conjunctions | None = None,
    seeds: int = 0,
    least: int = 0,
) -> Chance:
    """Return the strongest correlation of each shuffle.

    Args:
        drawn: Blocks of shuffled rewards.
        unit: Columns centred and of length 1, one per row of the array.
        documented: Which of them the documented floor looks at.
        binary: Places of the binary columns in `unit`.
        conjunctions: Their ANDs, if these are searched as well.
        seeds: How many of the strongest binary columns are combined.
        least: Rows an AND has to be seen in.
    """
    import numpy as np

    strongest, known = [], []
    for block in drawn:
        # This way round BLAS has long rows to hand out; the other way its threads wait a lot.
        found = np.abs(unit @ block.T).T
        known.append(found[:, documented].max(axis=1, initial=0.0).astype(np.float64))
        top = found.max(axis=1, initial=0.0).astype(np.float64)
        if conjunctions is not None and binary is not None and len(binary) > 1:
            for place, reward in enumerate(block):
                which = strongest_places(found[place, binary], seeds)
                pairs = conjunctions.strengths(which, reward, least)
                top[place] = max(top[place], np.abs(pairs).max(initial=0.0))
        strongest.append(top)
    return Chance(np.sort(np.concatenate(known)), np.sort(np.concatenate(strongest)))


def strongest_places(strengths: NDArray[np.floating], most: int) -> NDArray[np.int64]:
    """Return the places of the `most` largest values."""
    import numpy as np

    if len(strengths) <= most:
        return np.arange(len(strengths))
    return np.argpartition(-strengths, most)[:most]
