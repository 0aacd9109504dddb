"""The grid of situations: an array that covers every pair of values of two axes.

The array is stable when the policy is edited: the rows without a rule do not depend on the
rules, and each rule has rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import combinations, product
from typing import TypeAlias

from whileai_core import jsonio
from whileai_core.simulation.chance import number
from whileai_core.traces.dimensions import UNSPECIFIED

Assignment: TypeAlias = dict[str, str]
Axes: TypeAlias = Mapping[str, Sequence[str]]
# Two axes and their values, in the order of the axes' names.
Pair: TypeAlias = tuple[str, str, str, str]

RULE = "rule"


def scenario_id(assignment: Mapping[str, str]) -> str:
    """Return the id of a situation: the same assignment has the same id in every run."""
    return f"sc-{sha256(jsonio.canonical(dict(assignment))).hexdigest()[:10]}"


def pairs_of(assignment: Mapping[str, str]) -> Iterator[Pair]:
    """Yield the pairs of values that an assignment covers."""
    for (one, left), (other, right) in combinations(sorted(assignment.items()), 2):
        yield one, left, other, right


def all_pairs(axes: Axes) -> set[Pair]:
    """Return the pairs that there are to cover."""
    return {
        (one, left, other, right)
        for one, other in combinations(sorted(axes), 2)
        for left, right in product(axes[one], axes[other])
    }


def covering_array(axes: Axes) -> list[Assignment]:
    """Return assignments in which every pair of values of two axes occurs."""
    others = {axis: list(values) for axis, values in axes.items() if axis != RULE}
    rows = [_complete(row, axes) for row in _pairwise(others)]
    for rule in axes.get(RULE, [UNSPECIFIED]):
        if rule != UNSPECIFIED:
            rows += [_complete({**row, RULE: rule}, axes) for row in _walk(others, rule)]
    return rows


def diagonal(axes: Axes, step: int, *salt: object) -> Assignment:
    """Return one step of a walk through all axes at once, each from a place of its own.

    As many steps as the longest axis has values visit every value of every axis. The walk
    shifts after each such round, so that longer walks meet other combinations.
    """
    longest = max((len(values) for values in axes.values()), default=1)
    turn = step // longest
    return {
        axis: values[
            (step + number(*salt, axis) + turn * (number(*salt, axis, "turn") % 7)) % len(values)
        ]
        for axis, values in axes.items()
    }


def _walk(axes: Axes, rule: str) -> list[Assignment]:
    longest = max(len(values) for values in axes.values())
    return [diagonal(axes, step, rule) for step in range(longest)]


def _complete(row: Assignment, axes: Axes) -> Assignment:
    return {axis: row.get(axis, UNSPECIFIED) for axis in axes}


def _pairwise(axes: Axes) -> list[Assignment]:
    """Return a greedy pairwise array: each row starts from the first pair that is left."""
    uncovered = {
        (one, other): dict.fromkeys(product(axes[one], axes[other]))
        for one, other in combinations(axes, 2)
    }
    if not uncovered:
        return [{axis: value} for axis, values in axes.items() for value in values]
    rows = []
    for (one, other), pairs in uncovered.items():
        while pairs:
            left, right = next(iter(pairs))
            row = {one: left, other: right}
            for axis in axes:
                if axis not in row:
                    gains = [_gain(row, axis, value, uncovered) for value in axes[axis]]
                    row[axis] = axes[axis][gains.index(max(gains))]
            for first, second in uncovered:
                uncovered[first, second].pop((row[first], row[second]), None)
            rows.append(row)
    return rows


def _gain(
    row: Assignment,
    axis: str,
    value: str,
    uncovered: Mapping[tuple[str, str], Mapping[tuple[str, str], None]],
) -> int:
    """Count the pairs that a value for one more axis would cover anew."""
    return sum(
        (value, row[axes[1]]) in pairs if axes[0] == axis else (row[axes[0]], value) in pairs
        for axes, pairs in uncovered.items()
        if axis in axes and all(name == axis or name in row for name in axes)
    )
