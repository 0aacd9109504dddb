"""Numbers to trust: pass rates with intervals, holdout sizes, the hack scan, the publish gate.

Everything here is a pure function over rows; numpy is loaded on first use.
"""

from whileai_core.quality.calibration import calibrate
from whileai_core.quality.decontamination import decontaminate
from whileai_core.quality.hackscan import hack_scan
from whileai_core.quality.holdouts import (
    detectable_effect,
    holdout_size,
    small_holdout_text,
    tasks_needed,
    warn_if_small,
)
from whileai_core.quality.intervals import (
    Interval,
    bootstrap_interval,
    jeffreys_interval,
    mean_interval,
    power_interval,
    row_rate_interval,
    task_rate_interval,
    wilson_interval,
)
from whileai_core.quality.pairs import paired_difference
from whileai_core.quality.passrates import PassRates, pass_at, pass_rates
from whileai_core.quality.plots import (
    RateLine,
    TaskRate,
    data_uri,
    pass_rate_plot,
    rate_plot,
    task_rates,
)
from whileai_core.quality.preview import Preview, preview_report
from whileai_core.quality.profile import Profile, profile_report
from whileai_core.quality.publishing import publish_gate
from whileai_core.quality.reports import Report
from whileai_core.quality.sides import split_holdout
from whileai_core.quality.signal import group_signal, select_for_rl
from whileai_core.quality.tasks import Tally
from whileai_core.quality.verdicts import normalize_judge_result
from whileai_core.quality.wording import pass_rate_text

__all__ = [
    "Interval",
    "PassRates",
    "Preview",
    "Profile",
    "RateLine",
    "Report",
    "Tally",
    "TaskRate",
    "bootstrap_interval",
    "calibrate",
    "data_uri",
    "decontaminate",
    "detectable_effect",
    "group_signal",
    "hack_scan",
    "holdout_size",
    "jeffreys_interval",
    "mean_interval",
    "normalize_judge_result",
    "paired_difference",
    "pass_at",
    "pass_rate_plot",
    "pass_rate_text",
    "pass_rates",
    "power_interval",
    "preview_report",
    "profile_report",
    "publish_gate",
    "rate_plot",
    "row_rate_interval",
    "select_for_rl",
    "small_holdout_text",
    "split_holdout",
    "task_rate_interval",
    "task_rates",
    "tasks_needed",
    "warn_if_small",
    "wilson_interval",
]
