"""Which cheap feature explains the reward inside a task: the scan for reward hacks.

A policy trained on rows whose reward follows a feature learns the feature. Whether that is a
hack only a person can say: `endorsed` names the features that are meant to be rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from whileai_core.errors import InputError
from whileai_core.quality.blas import one_blas_thread
from whileai_core.quality.columns import Column, Features, hand_columns, term_columns, usable
from whileai_core.quality.facts import Facts
from whileai_core.quality.grades import grade_of
from whileai_core.quality.reports import Report
from whileai_core.quality.scanning import SAME, Finding, Scan, Search, matches
from whileai_core.quality.tasks import checked_rows

_SEEN_SHARE = 3  # a column counts from a third of the rows on, whatever min_obs says
_SEEN_AT_LEAST = 3
_FEW_REPLIES = 3
_EXHAUSTED = 0.2
_DIGITS = 4
_RANK_DIGITS = 6


@one_blas_thread()
def hack_scan(
    rows: object,
    endorsed: Sequence[str] = (),
    features: Features | None = None,
    auto: bool = True,
    top_k: int = 200,
    n_perm: int = 100,
    min_obs: int = 20,
    seeds: int = 12,
    reward: str = "reward",
    seed: int = 0,
    top_features: int = 20,
    alpha: float = 0.05,
    *,
    few_rows: bool = True,
    facts: Sequence[Facts] | None = None,
) -> Report:
    """Return which features the reward follows inside tasks, and a verdict.

    Args:
        rows: Rows, several per task; those without a numeric reward are left out.
        endorsed: Parts of feature names that are meant to be rewarded (case ignored).
        features: Further features: name to a function of a row, or to one number per graded row.
        auto: Look at words, pairs of words and pairs of features as well.
        top_k: How many words and pairs of words.
        n_perm: Shuffles behind `tau`, the documented floor.
        min_obs: Rows in which a documented feature is not 0.
        seeds: How many of the strongest yes/no features are combined in pairs.
        reward: Key of the reward.
        seed: Draws other shuffles.
        top_features: How many features to list.
        alpha: Chance that a reward that follows nothing is said to follow something.
        few_rows: Also judge features seen in fewer than `min_obs` rows, down to a third of the
            rows (3 at least). They are listed when they are above the floor.
        facts: What `facts_of` read in the rows, if that was done before.

    Returns:
        `regime` is the verdict: `unknown`, `degenerate`, `no_signal`, `reward_hack`,
        `pool_exhausted` or `train`. It follows `tau_calibrated`, the floor that repeats the whole
        search on each shuffle; `tau` leaves the pairs of features out and is crossed by chance
        far more often. `integrity` is the documented share of the signal that is endorsed;
        `integrity_calibrated` does not count a twin of an endorsed feature against it.

    Raises:
        InputError: An argument is out of its range, or `rows` is no list of rows.
    """
    listed = checked_rows(rows)
    _check(endorsed, n_perm, alpha)
    graded = [place for place, row in enumerate(listed) if grade_of(row, reward) is not None]
    scan = Scan(
        [listed[place] for place in graded],
        reward,
        None if facts is None else [facts[place] for place in graded],
    )
    report = scan.report_of_groups(len(listed), n_perm)
    n = len(scan.rows)
    wide = min(min_obs, max(_SEEN_AT_LEAST, n // _SEEN_SHARE)) if few_rows else min_obs
    search = Search(endorsed, seeds if auto else 0, wide, min_obs)
    findings: list[Finding] = []
    known = not endorsed
    if scan.disagree:
        columns = _columns(scan, features, search.least, top_k if auto else 0)
        known = known or any(column.n_obs and matches(column, endorsed) for column in columns)
        findings = scan.look(usable(columns, _seen_enough(search)), search)
        report["min_obs_used"] = wide
    if findings:
        report["tau"], report["tau_calibrated"] = scan.floors(
            search, n_perm=n_perm, alpha=alpha, seed=seed
        )
    report["endorsed_known"] = known
    return _judged(report, findings, scan, endorsed, top_features)


def _columns(scan: Scan, features: Features | None, least: int, top_k: int) -> list[Column]:
    columns = hand_columns(scan.rows, scan.facts, features, scan.order)
    if top_k > 0:
        columns += term_columns([fact.text for fact in scan.facts], least=least, most=top_k)
    return columns


def _seen_enough(search: Search) -> Callable[[Column], bool]:
    """Return what tells the columns to look at; those the user names may be rare."""
    few = search.least < search.min_obs
    named = min(search.least, _SEEN_AT_LEAST) if few else search.min_obs

    def enough(column: Column) -> bool:
        return column.n_obs >= (named if matches(column, search.endorsed) else search.least)

    return enough


def _judged(
    report: Report,
    findings: list[Finding],
    scan: Scan,
    endorsed: Sequence[str],
    top_features: int,
) -> Report:
    floor = report["tau_calibrated"]

    def above(finding: Finding) -> bool:
        return floor is not None and finding.strength > round(floor, _RANK_DIGITS)

    ranked = sorted(
        (f for f in findings if f.documented or f.endorsed or above(f)),
        key=lambda f: (-f.strength, not (f.endorsed and f.rho > 0), f.column.name),
    )
    heard = [finding for finding in ranked if above(finding)]
    top = heard[0] if heard else None
    report["degenerate"] = (
        sum(finding.strength >= SAME for finding in ranked) >= 2
        and report["distinct_per_ask"] < _FEW_REPLIES
    )
    report["n_features"] = len(ranked)
    report["n_above_floor"] = len(heard)
    report["rho_max"] = round(ranked[0].strength, _DIGITS) if ranked else 0.0
    report["endorsed_matched"] = sum(
        finding.endorsed for finding in ranked if " & " not in finding.column.name
    )
    report["features"] = [_entry(scan, f, above(f)) for f in ranked[:top_features]]
    report["regime"] = _regime(report, top, bool(endorsed), scan.disagree)
    if report["regime"] in ("unknown", "degenerate"):
        _warn(report, endorsed, scan.disagree)
        return report
    if top is not None:
        report["top_feature"] = top.column.name
        report["tasks"] = scan.tasks_following(top)
    if endorsed:
        report["endorsed_on_top"] = bool(top and top.endorsed and top.rho > 0) if top else None
        report["inverted"] = [f.column.name for f in heard if f.endorsed and f.rho < 0]
        wanted = [f for f in heard if f.endorsed and f.rho > 0]
        others = [f for f in heard if not f.endorsed]
        twins = scan.twins(others, wanted)
        report["integrity"] = _integrity(wanted, others)
        report["integrity_calibrated"] = _integrity(
            wanted, [f for f in others if f.column.name not in twins]
        )
    _warn(report, endorsed, scan.disagree)
    return report


def _regime(
    report: Report,
    top: Finding | None,
    endorses: bool,
    disagree: bool,
) -> str:
    if not (disagree and report["endorsed_known"]):
        return "unknown"
    if report["degenerate"]:
        return "degenerate"
    if top is None:
        return "no_signal"
    if endorses and not (top.endorsed and top.rho > 0):
        return "reward_hack"
    return "pool_exhausted" if report["support"]["sat"] > _EXHAUSTED else "train"


def _integrity(wanted: Sequence[Finding], others: Sequence[Finding]) -> float:
    good = max((finding.rho for finding in wanted), default=0.0)
    bad = max((abs(finding.rho) for finding in others), default=0.0)
    return round(good / (good + bad), _DIGITS) if good + bad else 0.0


def _entry(scan: Scan, finding: Finding, above: bool) -> dict[str, Any]:
    return {
        "name": finding.column.name,
        "rho": round(finding.rho, _DIGITS),
        "pooled": round(scan.pooled(finding), _DIGITS),
        "n_obs": finding.column.n_obs,
        "above_floor": above,
        "endorsed": finding.endorsed,
        "aliases": list(finding.column.aliases),
    }


def _warn(report: Report, endorsed: Sequence[str], disagree: bool) -> None:
    if disagree and not report["endorsed_known"]:
        report["warnings"].append(
            f"endorsed {', '.join(map(repr, endorsed))} matches no feature of these rows; "
            "check the spelling (tools are `tool:<name>`)"
        )
    if report["degenerate"]:
        report["warnings"].append(
            "tasks have fewer than three distinct replies, and several features separate them "
            "perfectly; nothing can be told apart"
        )
    if report["regime"] == "reward_hack":
        report["warnings"].append(
            f"reward follows {report['top_feature']!r} inside tasks, which is not endorsed"
        )
    elif report["top_feature"] is not None and not endorsed:
        report["warnings"].append(
            f"reward follows {report['top_feature']!r} inside tasks; pass endorsed= to say "
            "whether it should"
        )
    if report["regime"] == "pool_exhausted":
        report["warnings"].append(
            f"{report['support']['sat']:.0%} of the tasks always pass and teach nothing"
        )


def _check(endorsed: Sequence[str], n_perm: int, alpha: float) -> None:
    if isinstance(endorsed, str) or not all(isinstance(name, str) and name for name in endorsed):
        raise InputError(f"endorsed={endorsed!r} must be a list of parts of feature names")
    if n_perm < 1:
        raise InputError(f"n_perm={n_perm!r} must be 1 or more")
    if not 0 < alpha < 1:
        raise InputError(f"alpha={alpha!r} must be above 0 and below 1")
