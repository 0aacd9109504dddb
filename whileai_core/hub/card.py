"""The README of a dataset repository: what is in it and what proves it, made from the manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.hub.columns import EXACT
from whileai_core.hub.readme import parts_of, plain, written
from whileai_core.quality import pass_rate_text

if TYPE_CHECKING:
    from whileai_core.hub.manifest import Manifest

_TAGS = ["agent-traces", "whileai"]
_DEFAULT, _OURS = "default", "whileai"
_NEAR = (
    "An ask is near another one when the two are the same but for case and spacing, or their "
    "similarity by the method named in brackets is at least the number after it."
)
_ORDER = {"train": 0, "holdout": 1, "eval": 2}


def card(repo_id: str, manifest: Manifest, former: bytes | None) -> bytes:
    """Return the README for what a manifest says.

    Args:
        repo_id: The repository.
        manifest: What is in it after the push.
        former: The README before the push, if there is one.
    """
    metadata, text = parts_of(former)
    config = _config(metadata)
    merged = _metadata(metadata, manifest, config)
    return written(merged, text, _body(repo_id, manifest, config))


def plot_name(split: str) -> str:
    """Return where the plot of a split lies in the repository."""
    return f"plots/pass-rate-{split}.svg"


def _config(old: dict[str, Any]) -> str:
    """Return the configuration our splits are in: the default one, unless that has other splits.

    Splits of one configuration have to have the same columns, or none of them can be loaded.
    """
    for config in _configs(old):
        if config.get("config_name", _DEFAULT) == _DEFAULT:
            listed = config.get("data_files")
            files = listed if isinstance(listed, list) else [listed]
            if not all(isinstance(entry, dict) and _is_ours(entry) for entry in files):
                return _OURS
    return _DEFAULT


def _is_ours(entry: dict[str, Any]) -> bool:
    return bool(entry.get("path") == _pattern(str(entry.get("split"))))


def _pattern(split: str) -> str:
    return f"data/{split}-*.parquet"


def _configs(old: dict[str, Any]) -> list[dict[str, Any]]:
    listed = old.get("configs")
    return [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []


def _metadata(old: dict[str, Any], manifest: Manifest, config: str) -> dict[str, Any]:
    """Merge what loaders read: our splits, and whatever configurations were there."""
    files = [{"split": split, "path": _pattern(split)} for split in _ordered(manifest)]
    known = _configs(old)
    ours = next((c for c in known if c.get("config_name", _DEFAULT) == config), {})
    others = [c for c in known if c is not ours]
    ours = {"config_name": config} | ours | {"data_files": files}
    tags = [tag for tag in old.get("tags") or () if tag not in _TAGS]
    merged = old | {"tags": [*tags, *_TAGS], "configs": [ours, *others]}
    # Sizes and types somebody noted for these splits are wrong from now on.
    about = merged.pop("dataset_info", None)
    listed = [about] if isinstance(about, dict) else about if isinstance(about, list) else []
    kept = [
        entry
        for entry in listed
        if isinstance(entry, dict) and entry.get("config_name", _DEFAULT) != config
    ]
    return merged | ({"dataset_info": kept} if kept else {})


def _body(repo_id: str, manifest: Manifest, config: str) -> str:
    splits = _ordered(manifest)
    sections = [
        f"# {repo_id.split('/')[1]}",
        _what(manifest, splits),
        "## Splits\n\n" + _splits(manifest, splits),
        "## What the splits can show\n\n" + _effects(manifest, splits),
        "## Checks\n\n" + _checks(manifest, splits),
        "## Lineage\n\n" + _lineage(manifest, splits),
        "## Load it\n\n" + _loading(repo_id, splits, config),
        "## What changed\n\n" + _changes(manifest, splits),
    ]
    plots = [
        f"![Pass rate by task, {split}]({plot_name(split)})"
        for split in splits
        if manifest.splits[split]["numbers"]["graded"]
    ]
    if plots:
        sections.append("## Pass rates by task\n\n" + "\n\n".join(plots))
    return "\n\n".join(sections)


def _what(manifest: Manifest, splits: list[str]) -> str:
    entries = [manifest.splits[split] for split in splits]
    agents = sorted({entry["agent"] for entry in entries if entry.get("agent")})
    of_whom = f" of the agent {', '.join(map(plain, agents))}" if agents else ""
    lines = [
        f"Conversations{of_whom}, one a row, published by whileai-pipelines. Every number below "
        "was computed from the rows themselves when they were pushed."
    ]
    lines += [plain(e["description"]) for e in entries if e.get("description")]
    return "\n\n".join(dict.fromkeys(lines))


def _splits(manifest: Manifest, splits: list[str]) -> str:
    lines = [
        "| split | rows | tasks | graded | pass rate, 95 % interval |",
        "|---|--:|--:|--:|---|",
    ]
    for split in splits:
        numbers = manifest.splits[split]["numbers"]
        lines.append(
            f"| {split} | {numbers['rows']} | {numbers['tasks']} | {numbers['graded']} "
            f"| {_rate(numbers)} |"
        )
    return "\n".join(lines)


def _rate(numbers: dict[str, Any]) -> str:
    interval = numbers.get("passRate95")
    return pass_rate_text(numbers["passed"], numbers["graded"], interval)


def _effects(manifest: Manifest, splits: list[str]) -> str:
    lines = []
    for split in splits:
        numbers = manifest.splits[split]["numbers"]
        effect, tasks = numbers["effect"], numbers["tasks"]
        which = f"{tasks} task{'s' * (tasks != 1)}"
        which += f" with {effect['repeats']} row{'s' * (effect['repeats'] != 1)} each"
        at = f"from {100 * effect['base']:.0f} %"
        if effect["shows"] is None or effect["shows"] > 1 - effect["base"]:
            line = f"- **{split}**: {which} are too few to show any gain {at}."
        else:
            line = (
                f"- **{split}**: {which} show a change of the pass rate {at} by "
                f"{100 * effect['shows']:.1f} points or more (power 80 %, level 5 %)."
            )
        lines.append(f"{line} A change by 5 points takes {effect['tasksFor5Points']} tasks.")
    return "\n".join(lines)


def _checks(manifest: Manifest, splits: list[str]) -> str:
    lines = ["| split | publish gate | near copies of other splits | secrets and personal data |"]
    lines.append("|---|---|---|---|")
    warnings = []
    for split in splits:
        entry = manifest.splits[split]
        gate = entry["numbers"]["gate"]
        lines.append(
            f"| {split} | {_gate(gate)} | {_leaks(entry['leakage'])} "
            f"| {_redaction(entry['numbers']['redaction'])} |"
        )
        warnings += [f"- {split}: {plain(warning)}" for warning in gate.get("warnings", ())]
    compared = [r for split in splits for r in manifest.splits[split]["leakage"].values()]
    if any(report["checked"] for report in compared):
        lines += ["", _NEAR]
    return "\n".join(lines) + ("\n\n" + "\n".join(warnings) if warnings else "")


def _gate(gate: dict[str, Any]) -> str:
    if not gate["checked"]:
        return f"not checked: {gate['why']}"
    return "passed" if gate["ok"] else f"refused: {plain(gate['refusal'])}"


def _leaks(leakage: dict[str, dict[str, Any]]) -> str:
    said = [
        f"{report['n_leaky']} of {report['n']} asks near those of {other} ({_method(report)})"
        if report["checked"]
        else f"{other} not checked: {report['why']}"
        for other, report in leakage.items()
    ]
    return "; ".join(said) or "there was no other split"


def _method(report: dict[str, Any]) -> str:
    # Repositories published before the method was noted were compared by the word hash.
    return f"`{report.get('embedder', 'hash')}`, from {report['threshold']:g}"


def _redaction(found: dict[str, Any]) -> str:
    if not found["checked"]:
        return f"not checked: {found['why']}"
    kinds = ", ".join(f"{kind} ×{count}" for kind, count in found["findings"].items())
    return f"{kinds or 'none found'} in {found['rows']} rows"


def _lineage(manifest: Manifest, splits: list[str]) -> str:
    lines = [
        "| split | dataset | made from | name | SHA-256 of the rows |",
        "|---|---|---|---|---|",
    ]
    for split in splits:
        entry = manifest.splits[split]
        lines.append(
            f"| {split} | `{entry['datasetId']}` | {_code(entry.get('parentDatasetId'))} "
            f"| {plain(entry['name'])} | `{entry['sha256']}` |"
        )
    return "\n".join(lines)


def _loading(repo_id: str, splits: list[str], config: str) -> str:
    which = "" if config == _DEFAULT else f'"{config}", '
    return (
        "```python\nfrom datasets import load_dataset\n\n"
        f'rows = load_dataset("{repo_id}", {which}split="{splits[0]}")\n'
        'rows[0]["messages"], rows[0]["tools"]\n```\n\n'
        f"`messages` and `tools` are what trainers read. `{EXACT}` is the row as it was pushed, "
        "digit for digit:\n\n"
        f'```python\nimport json\n\nexact = [json.loads(row["{EXACT}"]) for row in rows]\n```'
    )


def _changes(manifest: Manifest, splits: list[str]) -> str:
    parts = []
    for split in splits:
        former = manifest.former(split)
        if former is None:
            parts.append(f"- **{split}**: first version.")
            continue
        entry = manifest.splits[split]
        old, new = former["numbers"], entry["numbers"]
        line = (
            f"- **{split}**: `{former['datasetId']}` → `{entry['datasetId']}`, rows {old['rows']} "
            f"→ {new['rows']}, tasks {old['tasks']} → {new['tasks']}, pass rate {_rate(old)} → "
            f"{_rate(new)}"
        )
        diff = entry.get("diff")
        if diff:
            line += f"; {diff['added']} rows new, {diff['removed']} gone, {diff['kept']} the same"
        parts.append(f"{line}.")
    return "\n".join(parts)


def _ordered(manifest: Manifest) -> list[str]:
    return sorted(manifest.splits, key=lambda split: (_ORDER.get(split, 3), split))


def _code(text: str | None) -> str:
    return f"`{text}`" if text else "–"
