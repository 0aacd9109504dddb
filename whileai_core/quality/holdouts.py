"""How many tasks a holdout needs to prove an effect, and what a given number can prove.

The effect is the mean over tasks of the difference in pass rate between two policies, each run
k times per task. A two-sided test at `alpha` finds it with probability `power` from

    n = ((z(1 - alpha/2) + z(power)) * sd / effect)²

tasks, sd being the standard deviation of a task's difference: measured, given, or that of two
independent binomial rates, √((p(1-p) + q(1-q)) / k) with q = p + effect. Student's quantiles
give `n_tasks_t`. Below six tasks no sign-flip test reaches 5 % (2/2⁵ > 0.05), so six is the least.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.errors import InputError
from whileai_core.quality.quantiles import normal_quantile, t_quantile
from whileai_core.quality.reports import Report
from whileai_core.quality.tasks import Tally, checked_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PRIOR_PASS_RATE = 0.6
CEILING = 0.9
DEFAULT_REPEATS = 4
FEWEST_TASKS = 6
_FEWEST_PAIRED = 3
_BOOTSTRAP_DRAWS = 2000
_ROUNDS = 12
_DIGITS = 4
_NO_MORE_T = 10**9  # tasks at which Student's quantiles and the normal ones say the same


class _Measured(NamedTuple):
    """What graded rows say: the mean task pass rate, its spread, repeats, the rates."""

    base: float
    spread: float | None
    k: int
    rates: list[float]


def holdout_size(
    effect: float,
    base: float | None = None,
    k: int | None = None,
    power: float = 0.8,
    alpha: float = 0.05,
    *,
    before: object = None,
    after: object = None,
    task_std: float | None = None,
    rows: object = None,
    ceiling_pass_rate: float = CEILING,
) -> Report:
    """Return how many tasks prove a change of the pass rate by `effect`.

    Args:
        effect: Change of the mean pass rate to prove, between 0 and 1.
        base: Pass rate before (0.6 unless rows tell).
        k: Rollouts per task and policy (4 unless rows tell).
        power: Chance to find the effect when it is there.
        alpha: Chance to find one when there is none.
        before: Graded rows of the first policy; they give `base` and `k`.
        after: Graded rows of the second policy on the same tasks; with `before` the spread of
            the differences is measured (at least three shared tasks).
        task_std: Standard deviation of a task's difference, if known.
        rows: The same as `before`.
        ceiling_pass_rate: From this base on the rows cannot tell, and a base of 0.6 is assumed.

    Returns:
        `n_tasks` with what it was computed from; `n_tasks_t` with Student's quantiles (the one
        to plan with below some thirty tasks); `n_tasks_concentrated` if the effect falls on as
        few tasks as it can; `half_width` of the interval of the difference at `n_tasks`;
        `n_tasks_low` and `n_tasks_high`, the uncertainty of `n_tasks` where it was measured.

    Raises:
        InputError: A number is out of its range, rows are not graded, or too few tasks are shared.
    """
    _check(effect=effect, power=power, alpha=alpha)
    if task_std is not None and not task_std > 0:
        raise InputError(f"task_std={task_std!r} must be above 0")
    measured, differences = _measured(before if before is not None else rows, after)
    n_k = k if k is not None else (measured.k if measured else DEFAULT_REPEATS)
    n_base = base if base is not None else (measured.base if measured else PRIOR_PASS_RATE)
    if not 0 <= n_base <= 1:
        raise InputError(f"base={base!r} must be a pass rate between 0 and 1")
    if isinstance(n_k, bool) or n_k < 1 or n_k != int(n_k):
        raise InputError(f"k={k!r} must be a whole number of rollouts, 1 or more")
    factor = normal_quantile(1 - alpha / 2) + normal_quantile(power)

    saturated = False
    if task_std is not None:
        sd, source = task_std, "given"
    elif differences is not None:
        sd, source = _sample_sd(differences), "rows"
        saturated = n_base >= ceiling_pass_rate or sd == 0
    else:
        sd, source = _model_sd(n_base, effect, n_k), "model"
        saturated = measured is not None and (n_base >= ceiling_pass_rate or sd == 0)
    assumed = PRIOR_PASS_RATE if saturated else n_base
    if saturated:
        sd, source = _model_sd(assumed, effect, n_k), "model"
    n_tasks = _tasks_for(factor * sd / effect)

    report = Report(
        n_tasks=n_tasks,
        n_tasks_t=_tasks_with_t(sd / effect, alpha, power, n_tasks),
        effect=effect,
        base=n_base,
        k=n_k,
        power=power,
        alpha=alpha,
        task_std=round(sd, _DIGITS),
        sd_source=source,
        half_width=round(normal_quantile(1 - alpha / 2) * sd / math.sqrt(n_tasks), _DIGITS),
        n_tasks_concentrated=(
            _concentrated(assumed, effect, n_k, factor) if source == "model" else None
        ),
        base_spread=None if measured is None else measured.spread,
        n_paired=None if differences is None else len(differences),
        saturated=saturated,
        n_tasks_low=None,
        n_tasks_high=None,
        n_tasks_range_method=None,
        notes=[],
        warnings=[],
    )
    if saturated:
        report["warnings"].append(
            f"the rows pass {n_base:.0%} of the time and cannot show how tasks differ; "
            f"a pass rate of {PRIOR_PASS_RATE} is assumed"
        )
    elif task_std is None and measured is not None:
        sds = _resampled_sds(measured, differences, effect, n_k)
        _add_range(report, factor / effect * sds)
    if n_tasks == FEWEST_TASKS:
        report["notes"].append(f"{FEWEST_TASKS} tasks are the least a paired test can decide on")
    return report


def detectable_effect(
    n: int,
    base: float = PRIOR_PASS_RATE,
    k: int = DEFAULT_REPEATS,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float | None:
    """Return the smallest change of the pass rate that n tasks prove; None under two tasks."""
    if n < 2:
        return None
    factor = normal_quantile(1 - alpha / 2) + normal_quantile(power)
    effect = 0.0
    for _ in range(_ROUNDS):
        effect = factor * _model_sd(base, effect, k) / math.sqrt(n)
    return round(effect, _DIGITS)


def tasks_needed(tally: Tally, effect: float) -> int:
    """Return `holdout_size(effect, rows=…)["n_tasks"]` for rows that were counted in passing.

    Without a graded row a pass rate of 0.6 is assumed and k is the smallest row count of a task.
    """
    _check(effect=effect)
    measured = _measured_in(tally)
    base, k = PRIOR_PASS_RATE, min((group.rows for group in tally.groups.values()), default=1)
    if measured is not None:
        base, k = measured.base, measured.k
        if base >= CEILING or _model_sd(base, effect, k) == 0:
            base = PRIOR_PASS_RATE
    factor = normal_quantile(0.975) + normal_quantile(0.8)
    return _tasks_for(factor * _model_sd(base, effect, k) / effect)


def small_holdout_text(name: str, tally: Tally, effect: float) -> str | None:
    """Return the warning that a holdout is too small to prove an effect, or None."""
    tasks = len(tally.groups)
    if tasks == 0 or tasks >= (needed := tasks_needed(tally, effect)):
        return None
    measured = _measured_in(tally)
    base, k = (measured.base, measured.k) if measured else (PRIOR_PASS_RATE, DEFAULT_REPEATS)
    # As in `tasks_needed`: where nothing or nearly everything passes, the rate says little.
    base = base if 0 < base < CEILING else PRIOR_PASS_RATE
    shown = detectable_effect(tasks, base, k)
    possible = shown is not None and shown <= 1 - base
    what_shows = f"; {tasks} show one of {shown:g} or more" if possible else ""
    return (
        f"holdout {name!r} has {tasks} task{'s' if tasks != 1 else ''}; proving an effect of "
        f"{effect:g} takes {needed}{what_shows}. Hold out more tasks, or expect only larger "
        "effects to show"
    )


def warn_if_small(name: str, tally: Tally, effect: float) -> None:
    """Warn (`UserWarning`) when a holdout is too small to prove an effect."""
    text = small_holdout_text(name, tally, effect)
    if text is not None:
        warnings.warn(text, UserWarning, stacklevel=2)


def _check(**shares: float) -> None:
    for name, value in shares.items():
        if isinstance(value, bool) or not 0 < value < 1:
            raise InputError(f"{name}={value!r} must be above 0 and below 1")


def _measured(before: object, after: object) -> tuple[_Measured | None, list[float] | None]:
    if before is None:
        if after is not None:
            raise InputError("after= needs before=: the same tasks under the first policy")
        return None, None
    first = Tally.of(checked_rows(before))
    measured = _measured_in(first)
    if measured is None:
        raise InputError("no row has a reward of 0 or 1; grade the rows first")
    if after is None:
        return measured, None
    second = Tally.of(checked_rows(after)).graded
    differences = [
        second[task].rate - group.rate for task, group in first.graded.items() if task in second
    ]
    if len(differences) < _FEWEST_PAIRED:
        raise InputError(
            f"before and after share {len(differences)} graded tasks; "
            f"measuring how tasks differ takes at least {_FEWEST_PAIRED}"
        )
    return measured, differences


def _measured_in(tally: Tally) -> _Measured | None:
    groups = list(tally.graded.values())
    if not groups:
        return None
    rates = [group.rate for group in groups]
    spread = round(_sample_sd(rates), _DIGITS) if len(rates) > 1 else None
    return _Measured(
        math.fsum(rates) / len(rates), spread, min(group.graded for group in groups), rates
    )


def _sample_sd(values: Sequence[float]) -> float:
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def _model_sd(base: float, effect: float, k: int) -> float:
    after = min(1.0, base + effect)
    return math.sqrt((base * (1 - base) + after * (1 - after)) / k)


def _tasks_for(root: float) -> int:
    return max(FEWEST_TASKS, math.ceil(root * root))


def _tasks_with_t(ratio: float, alpha: float, power: float, start: int) -> int:
    """Return the least n with n >= ((t(1 - alpha/2) + t(power)) * sd / effect)²."""
    if start > _NO_MORE_T:
        return start
    n = start
    while n < (ratio * (t_quantile(1 - alpha / 2, n - 1) + t_quantile(power, n - 1))) ** 2:
        n += 1
    return n


def _concentrated(base: float, effect: float, k: int, factor: float) -> int | None:
    """Return the tasks needed when as few tasks as possible carry the whole effect.

    A share s of the tasks goes from `base` to 1, the others stay as they are.
    """
    share = effect / (1 - base) if base < 1 else 2.0
    if share > 1:
        return None
    coin = base * (1 - base)
    variance = ((1 - share) * 2 * coin + share * coin) / k + effect**2 * (1 - share) / share
    return _tasks_for(factor * math.sqrt(variance) / effect)


def _resampled_sds(
    measured: _Measured, differences: list[float] | None, effect: float, k: int
) -> NDArray[np.float64]:
    import numpy as np

    values = np.array(measured.rates if differences is None else differences)
    rng = np.random.default_rng(0)
    points, counts = np.unique(values, return_counts=True)
    drawn = rng.multinomial(len(values), counts / len(values), size=_BOOTSTRAP_DRAWS)
    means = drawn @ points / len(values)
    if differences is None:
        after = np.minimum(1.0, means + effect)
        variances = (means * (1 - means) + after * (1 - after)) / k
    else:
        squares = drawn @ points**2 / len(values) - means**2
        variances = np.maximum(squares, 0) * len(values) / (len(values) - 1)
    deviations: NDArray[np.float64] = np.sqrt(variances)
    return deviations


def _add_range(report: Report, roots: Any) -> None:
    sizes = sorted(_tasks_for(root) for root in roots.tolist())
    low, high = sizes[int(0.025 * len(sizes))], sizes[int(0.975 * len(sizes)) - 1]
    report["n_tasks_low"] = min(low, report["n_tasks"])
    report["n_tasks_high"] = max(high, report["n_tasks"])
    report["n_tasks_range_method"] = f"bootstrap over tasks, {_BOOTSTRAP_DRAWS} draws"
