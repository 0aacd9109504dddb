"""The publish gate: whether a set of rows is fit to be trained on, and what to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError, PublishGateError
from whileai_core.quality.calibration import calibration_of
from whileai_core.quality.correlations import label_correlations
from whileai_core.quality.facts import Facts, facts_of
from whileai_core.quality.grades import out_of_range
from whileai_core.quality.hackscan import hack_scan
from whileai_core.quality.lengths import length_report
from whileai_core.quality.repeats import duplicates, near_duplicate_prompts
from whileai_core.quality.reports import Report, StampedReport
from whileai_core.quality.sides import checked_fraction, split_holdout
from whileai_core.quality.signal import (
    DEFAULT_BAND,
    Groups,
    checked_band,
    groups_by_signal,
    signal_of,
)
from whileai_core.quality.tasks import Tally, Task, as_read, checked_rows, named
from whileai_core.sources.collector import collector_paused

if TYPE_CHECKING:
    from whileai_core.rows import Row

_RL = "rl"
_ACCIDENTS = 0.2  # share of repeated tasks below which repeats are taken for accidents


def publish_gate(
    rows: object,
    mode: str | None = None,
    band: Sequence[float] = DEFAULT_BAND,
    policy: str | None = None,
    model: str | None = None,
    strict: bool = True,
    endorsed: Sequence[str] = (),
    strict_hacks: bool = False,
    *,
    holdout: float | None = None,
) -> StampedReport:
    """Return what a set of rows is worth for training, and refuse it where it is worth nothing.

    Only sets that are shaped for RL can be refused: mode "rl", or tasks with several rows.

    Args:
        rows: The rows. They are not changed; stamped copies are the report's attribute `rows`.
        mode: What they are for. With another mode than "rl", a few repeated tasks are taken for
            accidents.
        band: Lowest and highest pass rate of a task worth training on.
        policy: Name of the student, for the stamps.
        model: Its model.
        strict: Raise when refused; else only the report says so.
        endorsed: Features the reward is meant to follow, see `hack_scan`.
        strict_hacks: Refuse when the reward follows something else than what is endorsed, or
            when `endorsed` names nothing these rows have.
        holdout: Share of the tasks that will be held out; the rest has to pass on its own.

    Returns:
        The report: `ok`, `refusal` (None, or `code: reason`), `warnings`, and the parts they
        rest on.

    Raises:
        PublishGateError: The rows are refused; the message begins with `ungraded_rl_rows`,
            `no_mixed_groups` or `reward_hack` and names the tasks.
        InputError: An argument is out of its range, or `rows` is no list of rows.
    """
    listed = checked_rows(rows)
    limits = checked_band(band)
    fraction = checked_fraction(holdout)
    if mode is not None and not isinstance(mode, str):
        raise InputError(f"mode={mode!r} must be a text such as 'rl', or None")
    with collector_paused():
        report = _gate(
            listed,
            mode,
            limits,
            student=(policy, model),
            endorsed=endorsed,
            strict_hacks=strict_hacks,
            holdout=fraction,
        )
    if strict and report["refusal"] is not None:
        raise PublishGateError(report["refusal"])
    return report


def _gate(
    rows: list[Row],
    mode: str | None,
    band: tuple[float, float],
    *,
    student: tuple[str | None, str | None],
    endorsed: Sequence[str],
    strict_hacks: bool,
    holdout: float | None,
) -> StampedReport:
    tally = Tally.of(rows)
    read = [as_read(row) for row in rows]
    facts = facts_of(read)
    shaped = is_rl_shaped(tally, mode)
    calibration = calibration_of(rows, tally, policy=student[0], model=student[1])
    scan = None
    if shaped:
        # With nothing endorsed no hack can be told, and a handful of rows is no ground to talk.
        scan = hack_scan(read, endorsed=endorsed, few_rows=bool(endorsed), facts=facts)
    groups = groups_by_signal(tally, band)
    report = StampedReport(
        ok=True,
        judge_trust=None,
        rl_shaped=shaped,
        mode=mode,
        band=list(band),
        signal=signal_of(tally, band),
        calibration=calibration,
        duplicates=duplicates(read, facts),
        near_duplicate_prompts=near_duplicate_prompts(read),
        length=length_report(facts),
        correlations=label_correlations(facts),
        hack_scan=scan,
        warnings=[],
        refusal=None,
    )
    report.rows = calibration.rows
    if shaped:
        report["refusal"] = _refusal(tally, groups, scan, strict_hacks, bool(endorsed))
        if report["refusal"] is None and holdout is not None:
            report["refusal"] = _refusal_after_split(rows, holdout, band)
    report["ok"] = report["refusal"] is None
    report["warnings"] = _warnings(report, rows, facts, tally, groups)
    return report


def is_rl_shaped(tally: Tally, mode: str | None) -> bool:
    """Tell whether rows are meant as groups of rollouts."""
    if mode is not None and mode.strip().lower() == _RL:
        return True
    repeated = len(_repeated(tally))
    if mode is None or repeated == len(tally.groups):
        return repeated > 0
    return repeated > 1 and repeated >= _ACCIDENTS * len(tally.groups)


def _repeated(tally: Tally) -> list[Task]:
    return [task for task, group in tally.groups.items() if group.rows > 1]


def _refusal(
    tally: Tally,
    groups: Groups,
    scan: Report | None,
    strict_hacks: bool,
    endorses: bool,
) -> str | None:
    if not tally.graded:
        return (
            f"ungraded_rl_rows: none of {tally.rows} rows has a reward of 0 or 1"
            f"{_of_tasks(tally.groups)}; grade the rows, or publish them with one row per task"
        )
    if not groups.mixed:
        return (
            f"no_mixed_groups: no task has both passing and failing rows: {len(groups.all_one)} "
            f"always pass{_of_tasks(groups.all_one)}, {len(groups.all_zero)} always "
            f"fail{_of_tasks(groups.all_zero)}, {len(groups.single)} have one graded row"
            f"{_of_tasks(groups.single)}; add tasks of medium difficulty or more rows per task"
        )
    if strict_hacks and scan is not None:
        return _hack_refusal(scan, endorses)
    return None


def _hack_refusal(scan: Report, endorses: bool) -> str | None:
    if scan["regime"] == "reward_hack":
        return (
            f"reward_hack: reward follows {scan['top_feature']!r} inside tasks, which is not "
            f"endorsed{_of_tasks(scan['tasks'])}; mend the grader, or endorse the feature"
        )
    if endorses and not scan["endorsed_known"]:
        return (
            "reward_hack: endorsed= matches no feature of these rows, so nothing could be "
            "checked; correct the spelling (tools are `tool:<name>`)"
        )
    return None


def _refusal_after_split(
    rows: Sequence[Row], fraction: float, band: tuple[float, float]
) -> str | None:
    """Apply the checks on signal to what is left for training once tasks are held out."""
    train, held = split_holdout(rows, fraction)
    tally = Tally.of(train)
    refusal = _refusal(tally, groups_by_signal(tally, band), None, False, False)
    if refusal is None:
        return None
    code, _, reason = refusal.partition(": ")
    whole = Tally.of(held)
    mixed = groups_by_signal(whole, band).mixed
    return (
        f"{code}: after holding out {fraction:g} of the tasks, the train part fails: {reason} "
        f"(held out: {len(mixed)} mixed task{'s' if len(mixed) != 1 else ''}{_of_tasks(mixed)})"
    )


def _of_tasks(tasks: Any) -> str:
    listed = list(tasks)
    return f" ({named(listed)})" if listed else ""


def _warnings(
    report: Report, rows: Sequence[Row], facts: Sequence[Facts], tally: Tally, groups: Groups
) -> list[str]:
    found = [
        *_signal_warnings(report, facts, tally, groups),
        *_text_warnings(report),
    ]
    outside = [fact.task for row, fact in zip(rows, facts, strict=True) if out_of_range(row)]
    if outside:
        found.append(
            f"{len(outside)} rewards are below 0 or above 1 and count as ungraded"
            f"{_of_tasks(dict.fromkeys(outside))}"
        )
    if report["hack_scan"] is not None and report["ok"]:
        found += report["hack_scan"]["warnings"]
    return found


def _signal_warnings(
    report: Report, facts: Sequence[Facts], tally: Tally, groups: Groups
) -> list[str]:
    low, high = report["band"]
    inside = set(groups.in_band)
    outside = [task for task in groups.mixed if task not in inside]
    unanimous = [*groups.all_zero, *groups.all_one]
    ungraded = dict.fromkeys(fact.task for fact in facts if fact.label is None)
    calibration = report["calibration"]
    found = []
    if outside:
        found.append(
            f"{len(outside)} mixed tasks pass less than {low:g} or more than {high:g} of the "
            f"time{_of_tasks(outside)}"
        )
    if unanimous:
        found.append(
            f"{len(unanimous)} tasks are unanimous and give no gradient{_of_tasks(unanimous)}"
        )
    if ungraded:
        found.append(
            f"{calibration['n_unstamped']} rows have no label of 0 or 1{_of_tasks(ungraded)}"
        )
    if calibration["n_carried"]:
        found.append(f"{calibration['n_carried']} rows keep a calibration made from more rows")
    repeated = _repeated(tally)
    if repeated and not report["rl_shaped"]:
        found.append(
            f"{len(repeated)} tasks occur more than once in a set with one row per task"
            f"{_of_tasks(repeated)}"
        )
    return found


def _text_warnings(report: Report) -> list[str]:
    repeats, near = report["duplicates"], report["near_duplicate_prompts"]
    length, correlations = report["length"], report["correlations"]
    found = []
    if repeats["n_dropped"]:
        conflict = (
            f", {repeats['conflicting_rewards']} with another label"
            if repeats["conflicting_rewards"]
            else ""
        )
        found.append(
            f"{repeats['n_dropped']} rows repeat another row{conflict}{_of_tasks(repeats['tasks'])}"
        )
    if near["n_pairs"]:
        found.append(
            f"{near['n_prompts_involved']} prompts are nearly the same as another one, such as "
            f"{near['examples'][0][0]!r}"
        )
    if length["n_truncated"]:
        found.append(
            f"{length['n_truncated']} replies were cut{_of_tasks(length['truncated_tasks'])}"
        )
    if length["n_groups_wide_spread"]:
        found.append(
            f"{length['n_groups_wide_spread']} tasks have a reply more than "
            f"{length['max_spread']:g} times as long as the usual one"
            f"{_of_tasks(length['wide_tasks'])}"
        )
    found += [
        f"labels go along with {name!r} over all rows (r = {correlations['correlations'][name]:g}, "
        f"n = {correlations['n_graded']})"
        for name in correlations["flagged"]
    ]
    return found
