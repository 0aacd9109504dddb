import math
import random

import numpy as np
import pytest
import scipy  # its parts are loaded on use
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core.errors import InputError
from whileai_core.quality import (
    bootstrap_interval,
    jeffreys_interval,
    mean_interval,
    power_interval,
    row_rate_interval,
    task_rate_interval,
    wilson_interval,
)


def counts(most: int) -> st.SearchStrategy[tuple[int, int]]:
    """Passes out of up to `most` trials."""
    return st.integers(1, most).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


COUNTS = counts(60)
TASKS = st.lists(counts(8), min_size=1, max_size=40)


@given(COUNTS)
def test_wilson_agrees_with_scipy(pair: tuple[int, int]) -> None:
    passed, n = pair
    judge = scipy.stats.binomtest(passed, n).proportion_ci(0.95, method="wilson")
    ours = wilson_interval(passed, n, z=scipy.stats.norm.ppf(0.975))
    assert ours is not None
    assert ours.low == pytest.approx(judge.low, abs=1e-9)
    assert ours.high == pytest.approx(judge.high, abs=1e-9)


@given(COUNTS)
def test_jeffreys_agrees_with_scipy(pair: tuple[int, int]) -> None:
    passed, n = pair
    ours = jeffreys_interval(passed, n)
    assert ours is not None
    beta = scipy.stats.beta(passed + 0.5, n - passed + 0.5)
    assert ours.low == pytest.approx(beta.ppf(0.025) if passed else 0.0, abs=1e-9)
    assert ours.high == pytest.approx(beta.ppf(0.975) if passed < n else 1.0, abs=1e-9)


@pytest.mark.parametrize(("passed", "n"), [(-1, 4), (5, 4), (1, math.nan), (1, math.inf)])
def test_impossible_counts_are_refused(passed: float, n: float) -> None:
    with pytest.raises(InputError, match="is no rate"):
        wilson_interval(passed, n)


def test_nothing_has_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert jeffreys_interval(0, 0) is None
    assert mean_interval([]) is None
    assert task_rate_interval([], []) is None
    assert power_interval([], [], 4) is None
    assert row_rate_interval([], []) is None
    assert bootstrap_interval([0.0, 1.0]) is None


def test_bootstrap_is_that_of_scipy_up_to_its_draws() -> None:
    values = [0.0, 0.25, 0.5, 0.75, 1.0] * 6
    judge = scipy.stats.bootstrap(
        (np.array(values),), np.mean, method="percentile", random_state=1, n_resamples=9999
    ).confidence_interval
    ours = bootstrap_interval(values)
    assert ours == pytest.approx((judge.low, judge.high), abs=0.01)
    assert bootstrap_interval(values) == ours


@settings(deadline=None)
@given(TASKS)
def test_interval_of_tasks_holds_their_mean_and_has_a_width(
    tasks: list[tuple[int, int]],
) -> None:
    passed, graded = [c for c, _ in tasks], [n for _, n in tasks]
    interval = task_rate_interval(passed, graded)
    assert interval is not None
    mean = sum(c / n for c, n in tasks) / len(tasks)
    assert 0 <= interval.low <= mean + 1e-9
    assert mean - 1e-9 <= interval.high <= 1
    assert interval.high - interval.low > 0.005


@settings(deadline=None)
@given(TASKS, st.randoms(use_true_random=False))
def test_interval_does_not_depend_on_the_order_of_tasks(
    tasks: list[tuple[int, int]], rng: random.Random
) -> None:
    mixed = rng.sample(tasks, len(tasks))
    one = task_rate_interval([c for c, _ in tasks], [n for _, n in tasks])
    two = task_rate_interval([c for c, _ in mixed], [n for _, n in mixed])
    assert one == pytest.approx(two, abs=1e-9)


def test_failures_mirror_passes() -> None:
    passed = [0, 1, 4, 2, 3, 4, 4]
    low, high = task_rate_interval(passed, [4] * 7) or (0, 0)
    mirrored = task_rate_interval([4 - c for c in passed], [4] * 7)
    assert mirrored == pytest.approx((1 - high, 1 - low), abs=2e-3)


def test_one_row_per_task_is_the_interval_of_independent_rows() -> None:
    assert task_rate_interval([1] * 8 + [0] * 12, [1] * 20) == jeffreys_interval(8, 20)


def test_more_rollouts_narrow_the_interval_of_equal_tasks_only() -> None:
    def width(passed: list[int], k: int) -> float:
        low, high = task_rate_interval(passed, [k] * len(passed)) or (0, 1)
        return high - low

    alike = width([8, 7, 9, 8, 8, 9, 7, 8, 8, 8] * 2, 16)
    apart = width([16, 0] * 10, 16)
    single = width([1, 0] * 10, 1)
    assert alike < 0.4 * single
    assert apart == pytest.approx(single, abs=0.05)


def test_rows_of_a_task_count_as_one_when_they_agree() -> None:
    agreeing = row_rate_interval([8, 0] * 10, [8] * 20)
    assert agreeing == pytest.approx(wilson_interval(10, 20) or (), abs=0.02)
    independent = row_rate_interval([4] * 20, [8] * 20)
    assert independent == pytest.approx(wilson_interval(80, 160) or (), abs=1e-9)


def test_equal_values_give_the_interval_of_as_many_coins() -> None:
    assert mean_interval([1.0, 1.0, 1.0]) == wilson_interval(3, 3)
    assert mean_interval([0.5] * 4) == wilson_interval(2, 4)


@pytest.mark.parametrize("rate", [0.1, 0.5])
@pytest.mark.parametrize("alike", [True, False])
def test_covers_where_the_bootstrap_falls_short(rate: float, alike: bool) -> None:
    """Twenty tasks, four rollouts: a small version of the study, with its seeds."""
    rng = np.random.default_rng(11)
    sets = 400
    tasks = np.full((sets, 20), rate)
    if not alike:
        tasks = rng.beta(rate * 4, (1 - rate) * 4, (sets, 20))
    covered = 0
    for passed in rng.binomial(4, tasks).tolist():
        low, high = task_rate_interval(passed, [4] * 20) or (0, 1)
        covered += low <= rate <= high
    assert 0.925 <= covered / sets <= 0.985


def ways_to_fall(tasks: int, outcomes: int) -> list[tuple[int, ...]]:
    """How many tasks may have each outcome, every way there is."""
    if outcomes == 1:
        return [(tasks,)]
    return [
        (first, *rest)
        for first in range(tasks + 1)
        for rest in ways_to_fall(tasks - first, outcomes - 1)
    ]


def held(tasks: int, law: np.ndarray, truth: float, power: int = 1) -> float:
    """The exact probability that the interval of such tasks holds the true value."""
    share = 0.0
    for ways in ways_to_fall(tasks, len(law)):
        passed = [c for c, number in enumerate(ways) for _ in range(number)]
        graded = [len(law) - 1] * tasks
        found = (
            task_rate_interval(passed, graded)
            if power == 1
            else power_interval(passed, graded, power)
        )
        assert found is not None
        if found.low <= truth <= found.high:
            share += scipy.stats.multinomial.pmf(ways, tasks, law)
    return share


@pytest.mark.parametrize("tasks", [20, 50, 200])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_single_rollouts_are_covered_as_said(tasks: int, rate: float) -> None:
    assert 0.93 < held(tasks, np.array([1 - rate, rate]), rate) < 0.97


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_tasks_that_differ_are_covered_as_said(rate: float) -> None:
    law = scipy.stats.betabinom(2, 4 * rate, 4 * (1 - rate)).pmf(range(3))
    assert 0.93 < held(20, law, rate) < 0.98


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_passing_twice_is_covered(rate: float) -> None:
    beta = scipy.stats.beta(4 * rate, 4 * (1 - rate))
    law = scipy.stats.betabinom(3, 4 * rate, 4 * (1 - rate)).pmf(range(4))
    assert held(12, law, float(beta.moment(2)), power=2) > 0.93


@settings(max_examples=30)
@given(TASKS.filter(lambda tasks: min(n for _, n in tasks) > 1))
def test_the_power_interval_holds_what_the_rows_show(tasks: list[tuple[int, int]]) -> None:
    passed, graded = [c for c, _ in tasks], [n for _, n in tasks]
    shown = sum(math.comb(c, 2) / math.comb(n, 2) for c, n in tasks) / len(tasks)
    found = power_interval(passed, graded, 2)
    assert found is not None
    assert 0 <= found.low <= shown + 1e-9
    assert shown - 1e-9 <= found.high <= 1
