import warnings

import pytest
import scipy  # its parts are loaded on use
from hypothesis import given
from hypothesis import strategies as st
from rollouts import graded

from whileai_core.errors import InputError
from whileai_core.quality import (
    Tally,
    detectable_effect,
    holdout_size,
    small_holdout_text,
    tasks_needed,
    warn_if_small,
)


@pytest.mark.parametrize(
    ("effect", "options", "tasks"),
    [
        (0.05, {}, 367),
        (0.1, {}, 89),
        (0.05, {"k": 1}, 1468),
        (0.05, {"task_std": 0.38}, 454),
        (0.1, {"base": 0.3}, 89),
    ],
)
def test_documented_sizes(effect: float, options: dict[str, float], tasks: int) -> None:
    assert holdout_size(effect, **options)["n_tasks"] == tasks  # type: ignore[arg-type]


@pytest.mark.parametrize("effect", [0.3, 0.5, 0.9])
def test_never_fewer_tasks_than_a_paired_test_can_decide_on(effect: float) -> None:
    size = holdout_size(effect)
    assert size["n_tasks"] >= 6
    assert size["n_tasks_t"] >= size["n_tasks"]


@given(st.floats(0.05, 0.6), st.integers(1, 16))
def test_size_with_student_quantiles_is_the_least_that_suffices(effect: float, k: int) -> None:
    size = holdout_size(effect, k=k)
    sd = (0.6 * 0.4 + min(1, 0.6 + effect) * (1 - min(1, 0.6 + effect))) / k

    def enough(n: int) -> bool:
        quantiles = scipy.stats.t.ppf(0.975, n - 1) + scipy.stats.t.ppf(0.8, n - 1)
        return bool(n >= quantiles**2 * sd / effect**2 * (1 - 1e-9))

    n = size["n_tasks_t"]
    assert enough(n)
    assert n == size["n_tasks"] or not enough(n - 1)


def test_size_and_detectable_effect_are_inverse() -> None:
    n = holdout_size(0.08, base=0.5, k=4)["n_tasks"]
    assert detectable_effect(n, base=0.5, k=4) == pytest.approx(0.08, abs=0.001)
    assert detectable_effect(1) is None


def test_rows_give_base_repeats_and_a_range() -> None:
    rows = graded({f"t{i}": "1100" if i % 2 else "1110" for i in range(12)})
    size = holdout_size(0.1, rows=rows)
    assert size["base"] == pytest.approx(0.625)
    assert size["k"] == 4
    assert size["n_tasks_low"] <= size["n_tasks"] <= size["n_tasks_high"]


def test_pairs_measure_how_tasks_differ() -> None:
    before = graded({f"t{i}": "1100" for i in range(8)})
    after = graded({f"t{i}": "1111" if i < 4 else "1100" for i in range(8)})
    size = holdout_size(0.1, before=before, after=after)
    assert size["sd_source"] == "rows"
    assert size["n_paired"] == 8
    assert size["task_std"] == pytest.approx(0.2673, abs=1e-4)


def test_rows_that_always_pass_cannot_tell() -> None:
    size = holdout_size(0.05, rows=graded({"a": "1111", "b": "1111"}))
    assert size["saturated"] is True
    assert size["n_tasks"] == 367
    assert len(size["warnings"]) == 1


@pytest.mark.parametrize(
    "options",
    [
        {"effect": 0},
        {"effect": 1},
        {"effect": float("nan")},
        {"effect": True},
        {"effect": 0.1, "power": 1},
        {"effect": 0.1, "alpha": 0},
        {"effect": 0.1, "task_std": 0},
        {"effect": 0.1, "base": 1.5},
        {"effect": 0.1, "k": -1},
        {"effect": 0.1, "k": 0},
        {"effect": 0.1, "k": 2.5},
        {"effect": 0.1, "after": []},
        {"effect": 0.1, "before": []},
        {"effect": 0.1, "before": [{"prompt": "x"}]},
    ],
)
def test_impossible_questions_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(InputError):
        holdout_size(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize("effect", [1e-4, 1e-9, 1e-150])
def test_a_tiny_effect_needs_very_many_tasks(effect: float) -> None:
    size = holdout_size(effect)
    assert 0 <= size["n_tasks_t"] - size["n_tasks"] <= 2
    assert size["n_tasks"] * effect**2 == pytest.approx(0.9419, rel=1e-3)


@pytest.mark.parametrize(
    ("tasks", "effect", "needed"),
    [
        ({f"t{i}": "10" for i in range(5)}, 0.05, 781),
        ({f"t{i}": "111" for i in range(5)}, 0.05, 490),
    ],
)
def test_a_census_asks_for_as_many_tasks_as_the_documented_rule(
    tasks: dict[str, str], effect: float, needed: int
) -> None:
    rows = graded(tasks)
    assert tasks_needed(Tally.of(rows), effect) == needed
    assert holdout_size(effect, rows=rows)["n_tasks"] == needed


def test_ungraded_rows_need_tasks_for_their_repeats() -> None:
    assert tasks_needed(Tally.of([{"prompt": "a"}, {"prompt": "b"}]), 0.05) == 1468


def test_small_holdout_counts_tasks_whatever_names_them() -> None:
    rows = [{"prompt": f"ask {i}", "reward": i % 2} for i in range(19)]
    text = small_holdout_text("june", Tally.of(rows), 0.1)
    assert text is not None
    assert "'june' has 19 tasks" in text
    assert "show one of 0." in text


def test_large_enough_or_empty_holdouts_are_no_reason_to_warn() -> None:
    rows = [{"prompt": f"ask {i}", "reward": i % 2} for i in range(20)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_small("big", Tally.of(rows), 0.9)
        warn_if_small("empty", Tally(), 0.1)
    with pytest.warns(UserWarning, match="Hold out more tasks"):
        warn_if_small("small", Tally.of(rows), 0.1)


def test_a_holdout_without_a_pass_is_not_said_to_show_anything() -> None:
    rows = [{"task_id": f"t{n}", "prompt": "p", "reward": 0} for n in range(5)]
    text = small_holdout_text("june", Tally.of(rows), 0.05)
    assert text is not None
    assert "show one of 0 " not in text
    few = small_holdout_text("june", Tally.of(rows[:2]), 0.05)
    assert few is not None
    assert "show one of" not in few
