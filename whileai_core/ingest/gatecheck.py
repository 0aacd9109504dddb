"""The publish gate over a night's training set, in bounded memory, and its page."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whileai_core.traces.tasks import canonical_task

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.rows import Row
    from whileai_core.rowset import RowSet

GATE_BYTES = 96 * 1024 * 1024  # of JSONL; the gate needs its rows at once
_WARNINGS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class GateCheck:
    """What the gate says of a training set.

    Attributes:
        report: `ok`, `refusal`, `warnings`, `pass_rate` (with interval and n, as text),
            `rows_checked`, `rows` and the rest of the numbers, small enough to keep.
        page: The same as markdown with a plot of the pass rate per task.
    """

    report: dict[str, Any]
    page: str


def check_gate(train: RowSet) -> GateCheck:
    """Run the publish gate over a training set without refusing anything.

    A set of more than `GATE_BYTES` is judged by whole tasks drawn by their hash; the numbers of
    the profile are always those of all rows.
    """
    from whileai_core.quality import Profile, pass_rate_plot, publish_gate, task_rates
    from whileai_core.quality.plots import data_uri
    from whileai_core.quality.wording import pass_rate_text

    profile = Profile()
    for row in train:
        profile.add(row)
    numbers = profile.result()
    rows = list(_sampled(train))
    verdict = publish_gate(rows, strict=False)
    split = numbers["split"]
    rate = pass_rate_text(split["pass"], numbers["graded"], tasks=numbers["tasks"])
    report = {
        "ok": verdict["ok"],
        "refusal": verdict["refusal"],
        "warnings": list(verdict["warnings"]),
        "rl_shaped": verdict["rl_shaped"],
        "pass_rate": rate,
        "rows": train.rows,
        "rows_checked": len(rows),
        "tasks": numbers["tasks"],
        "mixed_tasks": numbers["mixed_tasks"],
        "support": numbers["support"],
    }
    plot = data_uri(pass_rate_plot(task_rates(numbers["per_task"]))) if numbers["graded"] else None
    return GateCheck(report, _page(report, plot))


def _sampled(train: RowSet) -> Iterator[Row]:
    share = GATE_BYTES / train.size if train.size > GATE_BYTES else 1.0
    for row in train:
        if share == 1.0 or _draw(row) < share:
            yield row


def _draw(row: Row) -> float:
    key = canonical_task(row) or str(row["row_id"])
    digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / (1 << 64)


def _page(report: dict[str, Any], plot: str | None) -> str:
    lines = [
        "# Publish gate",
        "",
        "Fit to be trained on." if report["ok"] else f"**Refused:** {report['refusal']}",
        "",
        f"- pass rate {report['pass_rate']}",
        f"- {report['mixed_tasks']} of {report['tasks']} tasks have both passes and failures",
    ]
    if report["rows_checked"] < report["rows"]:
        lines.append(f"- judged by {report['rows_checked']} of {report['rows']} rows, whole tasks")
    lines += [f"- {warning}" for warning in report["warnings"][:_WARNINGS_SHOWN]]
    if plot is not None:
        lines += ["", f"![pass rate per task]({plot})"]
    return "\n".join(lines)
