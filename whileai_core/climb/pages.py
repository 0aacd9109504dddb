"""A climb for people: text for the prompt, a page per round, a page over all rounds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from whileai_core.quality.plots import RateLine, data_uri, rate_plot
from whileai_core.quality.wording import percent_text, points_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Page = Callable[[str], str | None]

_WARNINGS_SHOWN = 10


def climb_text(result: dict[str, Any]) -> str:
    """Write what a climb brought, with the next command to try."""
    lines = [f"climb {result['name']}: {_count(len(result['rounds']), 'round')}", ""]
    for record in result["rounds"]:
        lines.append(f"round {record['round']}  {record['agent']['agent']}")
        lines.append(f"  pass@1    {_rate(record['pass_at_1'])}")
        lines.append(f"  held out  {_rate(record['held_out'])}")
        if record["comparison"] is not None:
            lines.append(f"  change    {change_text(record['comparison'])}")
        lines += [f"  aimed at  {e['signature']}: {_aimed(e)}" for e in record["aim"]]
        lines.append(f"  dataset   {_dataset_text(record['dataset'])}")
        lines += [f"  warning   {warning}" for warning in record["warnings"][:_WARNINGS_SHOWN]]
    lines += ["", f"stopped: {result['stopped']} ({result['reason']})"]
    if result["known"] == len(result["rounds"]) > 0:
        lines.append(f"all of it was done earlier; to do it again, delete {result['folder']}")
    pushed = [r["dataset"]["datasetId"] for r in result["rounds"] if r["dataset"]["datasetId"]]
    if pushed:
        lines.append(f"next: whileai-pipelines pull {pushed[-1]} --out {pushed[-1]}.jsonl")
    return "\n".join(lines)


def round_markdown(record: dict[str, Any], *, page: Page) -> str:
    """Write the page of one round; `page` gives the address of a dataset's page, if any."""
    lines = [
        f"# Round {record['round']}",
        "",
        f"- agent `{record['agent']['agent']}`{' (new)' if record['agent_changed'] else ''}",
        f"- pass@1 {_rate(record['pass_at_1'])}",
        f"- held out {_rate(record['held_out'])}",
    ]
    if record["comparison"] is not None:
        lines.append(f"- against the round before {change_text(record['comparison'])}")
    lines += [f"- dataset {_dataset_link(record['dataset'], page)}", ""]
    lines += [f"> {warning}" for warning in record["warnings"][:_WARNINGS_SHOWN]]
    lines += _aim_table(record["aim"])
    return "\n".join(lines)


def climb_markdown(
    name: str,
    records: Sequence[dict[str, Any]],
    reason: str | None,
    *,
    page: Page,
) -> str:
    """Write the page over all rounds so far: a plot, a table, and why the climb ended."""
    plot = data_uri(rate_plot(list(_lines(records)), title="pass@1 by round, 95 % intervals"))
    lines = [f"# Climb {name}", "", f"![pass@1 by round]({plot})", ""]
    lines += ["| round | agent | pass@1 | held out | change | dataset |", "|---" * 6 + "|"]
    for record in records:
        change = "–" if record["comparison"] is None else change_text(record["comparison"])
        lines.append(
            f"| {record['round']} | `{record['agent']['agent']}` | {_rate(record['pass_at_1'])} "
            f"| {_rate(record['held_out'])} | {change} "
            f"| {_dataset_link(record['dataset'], page)} |"
        )
    lines += ["", f"**Stopped:** {reason}." if reason else "Going on."]
    return "\n".join(lines)


def change_text(comparison: dict[str, Any]) -> str:
    """Write a paired difference with its interval and number of tasks."""
    if comparison["difference"] is None:
        return "no task in common"
    text = points_text(comparison["difference"], comparison["ci95"])
    text += f", n = {_count(comparison['n_tasks'], 'task')}"
    if comparison["ci95"] is None:
        return f"{text}, {comparison['note']}"
    return f"{text}, {'beyond' if comparison['separated'] else 'within'} noise"


def _lines(records: Sequence[dict[str, Any]]) -> list[RateLine]:
    return [
        _line(f"round {record['round']}, {name}", record[key])
        for name, key in (("its own asks", "pass_at_1"), ("held-out tasks", "held_out"))
        for record in records
        if record[key] is not None
    ]


def _line(name: str, rate: dict[str, Any]) -> RateLine:
    count = f"n {rate['n']}, {_count(rate['tasks'], 'task')}"
    return RateLine(name, rate["rate"], rate["low"], rate["high"], count)


def _aim_table(aim: Sequence[dict[str, Any]]) -> list[str]:
    if not aim:
        return ["", "Nothing to aim at yet: the asks explore the whole grid."]
    lines = ["", "| aimed at | planned | landed | failed |", "|---|---:|---:|---:|"]
    for entry in aim:
        failed = _share(entry)
        lines.append(
            f"| {entry['signature']} | {entry['planned']} | {entry['landed']} "
            f"| {entry['failed'] or 0} ({failed}) |"
        )
    return lines


def _aimed(entry: dict[str, Any]) -> str:
    landed = f"{entry['planned']} planned, {entry['landed']} landed"
    return f"{landed}, {entry['failed'] or 0} failed ({_share(entry)})"


def _share(entry: dict[str, Any]) -> str:
    if not entry["n"]:
        return "none graded"
    return f"{percent_text(entry['failed'] / entry['n'], entry['interval'])}, n = {entry['n']}"


def _rate(rate: dict[str, Any] | None) -> str:
    if rate is None:
        return "nothing graded"
    figure = percent_text(rate["rate"], (rate["low"], rate["high"]))
    return f"{figure}, n = {rate['n']} in {_count(rate['tasks'], 'task')}"


def _dataset_text(dataset: dict[str, Any]) -> str:
    if dataset["refusal"]:
        return f"not pushed, the gate refused: {_shortened(dataset['refusal'])}"
    return dataset["datasetId"] or "none"


def _shortened(refusal: str) -> str:
    """Return the reason without its lists of tasks, which the round's record has."""
    return re.sub(r" \('[^)]*\)", "", refusal)


def _dataset_link(dataset: dict[str, Any], page: Page) -> str:
    address = page(dataset["datasetId"]) if dataset["datasetId"] else None
    return f"[{dataset['datasetId']}]({address})" if address else _dataset_text(dataset)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
