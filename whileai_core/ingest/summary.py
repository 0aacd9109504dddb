"""What a night brought, for people: text for the prompt, markdown for the run's pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.quality.wording import pass_rate_text
from whileai_core.traces.report import format_trace_report

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whileai_core.ingest.account import Tally

_SOURCES_SHOWN = 50
_SKIPPED_SHOWN = 5


def account_line(total: Tally) -> str:
    """Say in one line where every record went."""
    return _sum_line(total.to_dict())


def night_text(result: dict[str, Any]) -> str:
    """Write a night's result as text, with the next command to try."""
    parts = [night_text(earlier) for earlier in result.get("resumed", ())]
    if parts:
        parts.insert(0, "finished an interrupted night first:")
    account = result["account"]
    parts.append(f"night {result['night']} of {result['agent']}")
    if not account["files"]:
        parts += [_nothing_new(account), *_warnings(result)]
        return "\n".join(parts)
    parts += [_sum_line(account), _where_line(account), *_warnings(result), ""]
    if not account["rows"]:
        parts.append(_no_new_row(account))
        return "\n".join(parts)
    parts += [format_trace_report(result["report"]), "", *judging_lines(result["judging"])]
    parts += _split_lines(result["split"])
    parts += [*_gate_lines(result["gate"]), ""]
    for entry in result["datasets"]:
        parts.append(
            f"{entry['purpose']:<9}{entry['datasetId']}  {_count(entry['rows'], 'row')}  "
            f"{entry['name']}"
        )
    if result["datasets"]:
        first = result["datasets"][0]["datasetId"]
        parts.append(f"next: whileai-pipelines pull {first} --out {first}.jsonl")
    return "\n".join(parts)


def _nothing_new(account: dict[str, Any]) -> str:
    if not account["files_known"]:
        return "no traces: there is no file under the paths that were named"
    return f"nothing new: {_count(account['files_known'], 'file')} known from earlier nights"


def _no_new_row(account: dict[str, Any]) -> str:
    if account["duplicates"]:
        return "nothing new: every conversation is known from earlier nights"
    return f"no rows: {_count(account['files'], 'new file')} without a readable conversation"


def skipped_lines(skipped: Sequence[dict[str, str]]) -> list[str]:
    """Name what lay beside the traces and is no file that can be read."""
    if not skipped:
        return []
    named = [f"{entry['source']} ({entry['reason']})" for entry in skipped[:_SKIPPED_SHOWN]]
    more = f" and {len(skipped) - len(named)} more" if len(skipped) > len(named) else ""
    return [f"warning: {_count(len(skipped), 'file')} skipped: {', '.join(named)}{more}"]


def night_markdown(
    result: dict[str, Any],
    *,
    page: Callable[[str], str | None] = lambda _: None,
    more: str = "",
) -> str:
    """Write the summary page of a run.

    Args:
        result: What the night brought.
        page: Gives the address of a dataset's page, if it has one.
        more: Links to the other pages of the run.
    """
    account = result["account"]
    lines = [f"# {result['agent']}, night {result['night']}", "", _sum_line(account), ""]
    lines += [f"> {warning}\n" for warning in _warnings(result)]
    lines += ["", f"More: {more}"] if more else []
    if result["datasets"]:
        lines += ["", "| purpose | dataset | rows | name |", "|---|---|---:|---|"]
        lines += [
            f"| {entry['purpose']} | {_dataset(entry['datasetId'], page)} | {entry['rows']} "
            f"| {entry['name']} |"
            for entry in result["datasets"]
        ]
        first = result["datasets"][0]["datasetId"]
        lines += ["", f"`whileai-pipelines pull {first} --out {first}.jsonl`"]
    else:
        lines += ["", "Nothing was pushed: no new rows."]
    if result["judging"]:
        told = judging_lines(result["judging"])
        lines += ["", "## Judge", "", *(f"- {line}" for line in told)]
    if result["split"]:
        lines += ["", "## Split", "", *(f"- {line}" for line in _split_lines(result["split"]))]
        lines += [f"- {line}" for line in _gate_lines(result["gate"])]
        lines += _evidence(result["split"])
    return "\n".join(lines)


def report_markdown(result: dict[str, Any]) -> str:
    """Write the page with what the traces hold."""
    report = result["report"]
    lines = ["# What the traces hold", "", "```", format_trace_report(report), "```"]
    if report["tools_observed"]:
        lines += ["", "| tool | calls | faulted |", "|---|---:|---:|"]
        lines += [
            f"| {_cell(name)} | {counts['n']} | {counts['fault_n']} |"
            for name, counts in sorted(report["tools_observed"].items())
        ]
    return "\n".join(lines)


def account_markdown(result: dict[str, Any]) -> str:
    """Write the page with what came in and where it went, per source."""
    account = result["account"]
    names = ("records", "rows", "duplicates", "quarantined", "ignored")
    lines = ["# What came in and where it went", "", _sum_line(account), ""]
    lines += ["| source | " + " | ".join(names) + " | read as |", "|---" + "|---:" * 5 + "|---|"]
    sources = sorted(account["sources"].items())
    for source, tally in [*sources[:_SOURCES_SHOWN], ("**all**", account)]:
        dialects = ", ".join(f"{name} ×{count}" for name, count in tally["dialects"].items())
        counts = " | ".join(str(tally[name]) for name in names)
        lines.append(f"| {_cell(source)} | {counts} | {_cell(dialects)} |")
    if len(sources) > _SOURCES_SHOWN:
        lines.append(f"\n{len(sources) - _SOURCES_SHOWN} more sources are in the total.")
    lines += _skipped_table(account.get("files_skipped", []))
    lines += _reasons(account)
    if result["quarantine"]:
        lines += ["", f"Quarantine: `{result['quarantine']}`"]
    return "\n".join(lines)


def _skipped_table(skipped: Sequence[dict[str, str]]) -> list[str]:
    if not skipped:
        return []
    lines = ["", "| file skipped | why |", "|---|---|"]
    lines += [
        f"| {_cell(entry['source'])} | {_cell(entry['reason'])} |"
        for entry in skipped[:_SOURCES_SHOWN]
    ]
    if len(skipped) > _SOURCES_SHOWN:
        lines.append(f"\n{len(skipped) - _SOURCES_SHOWN} more were skipped.")
    return lines


def _reasons(account: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if account["reasons"]:
        lines += ["", "| why left out | records |", "|---|---:|"]
        lines += [f"| {_cell(key)} | {count} |" for key, count in account["reasons"].items()]
    if account["unmapped"]:
        lines += ["", "| span attribute not read | spans |", "|---|---:|"]
        lines += [f"| {_cell(key)} | {count} |" for key, count in account["unmapped"].items()]
    if account["redacted"]:
        lines += ["", "| redacted | replacements |", "|---|---:|"]
        lines += [f"| {_cell(key)} | {count} |" for key, count in account["redacted"].items()]
    return lines


def _evidence(split: dict[str, Any]) -> list[str]:
    leaky = split.get("leakage", {}).get("leaky", [])
    if not leaky:
        return []
    lines = [
        "",
        "## Near copies left out",
        "",
        "| similarity | ask | held-out ask |",
        "|---:|---|---|",
    ]
    return lines + [
        f"| {pair['similarity']:.3f} | {_cell(pair.get('text', ''))} "
        f"| {_cell(pair.get('source_text', ''))} |"
        for pair in leaky
    ]


def _sum_line(account: dict[str, Any]) -> str:
    return (
        f"{_count(account['records'], 'record')} = {_count(account['rows'], 'row')} + "
        f"{_count(account['duplicates'], 'duplicate')} + {account['quarantined']} quarantined + "
        f"{account['ignored']} ignored"
    )


def _where_line(account: dict[str, Any]) -> str:
    return (
        f"{_count(account['rows'], 'row')} = {account['train']} to train on + "
        f"{account['holdout']} held out + {account['leaky']} left out as near copies of them"
    )


def _split_lines(split: dict[str, Any]) -> list[str]:
    leakage = split["leakage"]
    return [
        f"held out {split['tasks_held_out']} of {_count(split['tasks'], 'task')} "
        f"({split['rows_held_out']} of {_count(split['rows'], 'row')}, asked for "
        f"{split['fraction']:.0%})",
        f"of the tasks, {split['tasks_from_earlier_nights']} kept the side of an earlier night, "
        f"{split['tasks_held_out_for_a_new_flaw']} held out for a new kind of flaw, "
        f"{split['tasks_drawn_as_near_copies']} followed a near copy",
        f"leakage: near copies of {_count(leakage['n_sources'], 'held-out ask')} among "
        f"{_count(leakage['n'], 'remaining ask')}: {leakage['n_leaky']} (largest similarity "
        f"compared {leakage['max_similarity']:.3f}, limit {leakage['threshold']:g}, "
        f"{split['embedder']})",
    ]


def judging_lines(judging: dict[str, Any] | None) -> list[str]:
    """Say what a judge made of the ungraded rows, and how far labels bear it out."""
    if judging is None:
        return []
    graded = judging["passed"] + judging["failed"] + judging["between"]
    line = (
        f"judge {judging['judge']}: graded {graded} of "
        f"{_count(judging['ungraded'], 'ungraded row')} ({judging['passed']} passed, "
        f"{judging['failed']} failed"
    )
    line += f", {judging['between']} between)" if judging["between"] else ")"
    if judging["no_verdict"]:
        listed = ", ".join(f"{n} {status}" for status, n in judging["no_verdict"].items())
        line += f"; no verdict on {sum(judging['no_verdict'].values())} ({listed})"
    if judging["not_judged"]:
        line += f"; {judging['not_judged']} not judged: {judging['stopped']}"
    agreement = judging["agreement"]
    agreed = pass_rate_text(agreement["agreed"], agreement["n"], agreement["interval95"])
    if not agreement["n"]:
        return [line, "judge against labels: no row with a label to compare"]
    return [
        line,
        f"judge against labels: agrees on {agreed}; passes {agreement['passed_by_judge_only']} "
        f"that the label fails, fails {agreement['passed_by_label_only']} that it passes",
    ]


def judging_warnings(judging: dict[str, Any] | None) -> list[str]:
    """Say which rows a judge left ungraded, and why."""
    if judging is None:
        return []
    of = f"of {_count(judging['ungraded'], 'ungraded row')}"
    warnings = []
    failed = judging["no_verdict"]
    if failed:
        listed = ", ".join(f"{n} {status}" for status, n in failed.items())
        kind = (judging["first_error"] or "").partition(":")[0]
        warnings.append(
            f"warning: {sum(failed.values())} {of} got no verdict from judge {judging['judge']} "
            f"({listed}" + (f"; the first: {kind})" if kind else ")")
        )
    if judging["not_judged"]:
        warnings.append(f"warning: {judging['not_judged']} {of} not judged: {judging['stopped']}")
    return warnings


def _advice(datasets: list[dict[str, Any]]) -> list[str]:
    """Say how to grade what was pushed ungraded."""
    if not datasets:
        return []
    pushed = datasets[0]["datasetId"]
    return [
        "these rows were pushed ungraded and no later night judges them; to grade them, per "
        f"dataset: whileai-pipelines pull {pushed} --out {pushed}.jsonl; whileai-pipelines "
        f"evaluate {pushed}.jsonl --ungraded --judge REF --out {pushed}-graded.jsonl; "
        f"whileai-pipelines push {pushed}-graded.jsonl --parent {pushed}"
    ]


def _gate_lines(gate: dict[str, Any] | None) -> list[str]:
    if gate is None:
        return []
    verdict = "fit to train on" if gate["ok"] else f"refused: {gate['refusal']}"
    return [f"publish gate: {verdict}; training set: pass rate {gate['pass_rate']}"]


def _warnings(result: dict[str, Any]) -> list[str]:
    # A night that an earlier version had begun to push does not say what it skipped.
    warnings = skipped_lines(result["account"].get("files_skipped", []))
    if result["account"]["quarantined"]:
        warnings.append(
            f"{_count(result['account']['quarantined'], 'record')} could not be read; "
            f"see {result['quarantine']}"
        )
    if "warning" in result["split"]:
        warnings.append(f"warning: {result['split']['warning']}")
    ungraded = judging_warnings(result["judging"])
    if ungraded:
        warnings += [*ungraded, *_advice(result["datasets"])]
    return warnings


def _dataset(dataset_id: str, page: Callable[[str], str | None]) -> str:
    address = page(dataset_id)
    return f"[`{dataset_id}`]({address})" if address else f"`{dataset_id}`"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _cell(text: str) -> str:
    """Make a text safe for a markdown table cell."""
    flat = " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")
    return flat.replace("`", "'")
