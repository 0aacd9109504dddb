"""Small sets are judged by every order in which their rewards could have fallen."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whileai_core.quality import hack_scan
from whileai_core.quality.permutation import all_orders, grouping_of

TASKS = st.lists(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=4), max_size=3)


@given(TASKS.filter(lambda tasks: any(len(set(rewards)) > 1 for rewards in tasks)))
def test_every_order_comes_once(tasks: list[list[float]]) -> None:
    _, grouping = grouping_of([number for number, rewards in enumerate(tasks) for _ in rewards])
    rewards = np.array([reward for one in tasks for reward in one])
    orders = all_orders(grouping, rewards, 100_000)
    assert orders is not None
    distinct = {tuple(order) for order in orders.tolist()}
    assert len(distinct) == len(orders)
    assert len(orders) == math.prod(len(set(permutations(one))) for one in tasks)
    given_order = grouping.centred(rewards)
    given_order /= math.sqrt(float((given_order**2).sum()))
    assert tuple(given_order.astype(np.float32).tolist()) in distinct
    assert np.allclose((orders**2).sum(axis=1), 1)


@pytest.mark.parametrize("passes", [[60], [1, 1], [0, 4]])
def test_too_many_orders_are_not_listed(passes: list[int]) -> None:
    tasks = [number for number, _ in enumerate(passes) for _ in range(120)]
    rewards = np.array([float(place % 120 < passes[place // 120]) for place in range(len(tasks))])
    _, grouping = grouping_of(tasks)
    assert all_orders(grouping, rewards, 2000) is None


def test_a_task_that_always_passes_has_one_order() -> None:
    _, grouping = grouping_of(["a"] * 3000 + ["b"] * 2)
    orders = all_orders(grouping, np.array([1.0] * 3001 + [0.0]), 2000)
    assert orders is not None
    assert len(orders) == 2


def marked(shape: list[str]) -> list[dict[str, object]]:
    """Rows whose reward is whether the reply opens with a phrase; a mark each."""
    return [
        {
            "task_id": str(task),
            "prompt": f"ask {task}",
            "steps": [],
            "final_text": f"{'Good question! ' if mark == '1' else ''}Reply {place}.",
            "reward": int(mark),
        }
        for task, marks in enumerate(shape)
        for place, mark in enumerate(marks)
    ]


def test_few_rows_are_enough_where_orders_are_rare() -> None:
    scan = hack_scan(marked(["100000", "111100"]))  # 6 × 15 orders
    assert scan["n_above_floor"] > 0


def test_a_pattern_that_most_orders_show_is_none() -> None:
    scan = hack_scan(marked(["10", "10", "10"]))  # 8 orders: none is rare
    assert scan["n_above_floor"] == 0
