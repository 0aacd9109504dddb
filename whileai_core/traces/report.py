"""What traces hold, and where they would push the grid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from whileai_core.dialects.normalise import is_canonical
from whileai_core.dialects.reading import Item, RowItem, SpanItem, read_items
from whileai_core.sources.items import Origin, Reject
from whileai_core.traces.dimensions import SPECIAL_TOOLS, Axes, aim, build_dimensions
from whileai_core.traces.mining import Counts
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from whileai_core.dialects.spans import Collector

_AIMED_AXES = ("tool", "tool_condition", "world_state")
_STARTING_POINTS = frozenset({"success", "entity exists", "no fault"})
_LISTED = 5
_IN_MEMORY = Origin("<memory>")
_AXIS_WORDS = {"tool": "tools", "tool_condition": "faults", "world_state": "world states"}

Report = dict[str, Any]


def trace_report(traces: object, tools: object = None, policy: str = "") -> Report:
    """Say what traces hold and, with tools, which grid values they push forward.

    Args:
        traces: Whatever `load_traces` takes: a path, rows, messages, span batches.
        tools: The agent's tools: schemas, plain functions or tool objects.
        policy: The agent's policy.

    Raises:
        TypeError: `traces` holds no items, or an entry of `tools` is no tool.
        FileNotFoundError: `traces` is a path that is not there.
    """
    schemas = tool_schemas(tools)
    counts, dropped = _counted(traces)
    return report_from_counts(counts, tools=schemas, policy=policy, dropped=dropped)


def _counted(traces: object) -> tuple[Counts, int]:
    """Fold whatever can be read into counts, one item at a time; say how many gave no row."""
    counts = Counts()
    collector: Collector | None = None
    dropped = 0
    for item in _read(traces):
        if isinstance(item, RowItem):
            counts.add_row(item.row)
        elif isinstance(item, SpanItem):
            if collector is None:
                from whileai_core.dialects.spans import Collector

                collector = Collector()
            collector.add(item.span)
        elif isinstance(item, Reject):
            dropped += 1
    if collector is not None:
        for row in collector.rows():
            counts.add_row(row)
    return counts, dropped


def _read(traces: object) -> Iterator[Item]:
    """Read a source; rows in memory that are in the schema already are not copied."""
    if isinstance(traces, list | tuple) and traces and _is_row(traces[0]):
        for item in traces:
            if _is_row(item):
                yield RowItem(item, "rows", _IN_MEMORY)
            else:
                yield from read_items([item])
    else:
        yield from read_items(traces)


def _is_row(item: object) -> bool:
    return type(item) is dict and is_canonical(item)


def report_from_counts(
    counts: Counts, *, tools: object = None, policy: str = "", dropped: int = 0
) -> Report:
    """Make the report of `trace_report` out of counts, of one shard or of several merged.

    Args:
        counts: Counts over rows in the schema.
        tools: The agent's tools.
        policy: The agent's policy.
        dropped: Items that became no row.
    """
    mined = counts.result()
    report: Report = {
        "traces": counts.rows,
        "dropped": dropped,
        "unique_prompts": counts.unique_prompts,
        "tools_observed": mined["tools"],
        "faults_observed": mined["faults"],
        "world_states_observed": mined["world_states"],
        "distinct_behaviors": mined["unique_behaviors"],
        "graded": counts.graded,
        "passes": counts.passes,
        "fails": counts.graded - counts.passes,
        "ungraded": counts.rows - counts.graded - counts.advisory,
        "advisory_labels": counts.advisory,
    }
    schemas = tool_schemas(tools)
    if schemas:
        base = build_dimensions(schemas, policy)
        report["agent_tools"] = len(schemas)
        report["emphasis"] = _emphasis(base, aim(base, mined))
        foreign = [name for name in mined["tools"] if name not in _own_names(base)]
        if foreign:
            report["foreign_tools"] = foreign
    return report


def format_trace_report(report: Mapping[str, Any]) -> str:
    """Return a report as text, one fact a line.

    Raises:
        KeyError: The report lacks a key it needs.
    """
    lines = [
        _line("traces", report["traces"]),
        _line("unique prompts", report["unique_prompts"]),
        _line("distinct behaviors", report["distinct_behaviors"]),
        _line("graded", _graded_words(report)),
        _line("tools observed", _listed(report["tools_observed"], _tool_words)),
        _line("faults observed", _listed(report["faults_observed"], _fault_words)),
    ]
    if report["dropped"]:
        words = f"{report['dropped']} (no usable signal after normalization)"
        lines.append(_line("dropped rows", words))
    foreign = report.get("foreign_tools")
    if foreign:
        shown = ", ".join(foreign[:_LISTED])
        lines.append(f"warning: observed tools not in this agent's toolset: {shown}")
    lines.append(_emphasis_words(report))
    return "\n".join(lines)


def _own_names(base: Axes) -> list[str]:
    return [name for name in base["tool"] if name not in SPECIAL_TOOLS]


def _emphasis(base: Axes, aimed: Axes) -> Axes:
    emphasis = {axis: _gained(base[axis], aimed[axis]) for axis in _AIMED_AXES}
    return {axis: values for axis, values in emphasis.items() if values}


def _gained(before: list[str], after: list[str]) -> list[str]:
    shorter = len(after) < len(before)
    return [
        value
        for place, value in enumerate(after)
        if value in before
        and value not in _STARTING_POINTS
        and (shorter or place < before.index(value))
    ]


def _line(label: str, value: object) -> str:
    return f"{label + ':':<20}{value}"


def _graded_words(report: Mapping[str, Any]) -> str:
    words = (
        f"{report['graded']} (pass {report['passes']} / fail {report['fails']}), "
        f"ungraded {report['ungraded']}"
    )
    advisory = report["advisory_labels"]
    if advisory:
        words += f", advisory judge labels {advisory} (these steer aiming)"
    return words


def _listed(counts: Mapping[str, Any], words: Any) -> str:
    return ", ".join(words(name, counts[name]) for name in sorted(counts)) or "none"


def _tool_words(name: str, count: Mapping[str, int]) -> str:
    faulted = f" ({count['fault_n']} calls faulted)" if count["fault_n"] else ""
    return f"{name} x{count['n']}{faulted}"


def _fault_words(name: str, rows: int) -> str:
    return f"{name} x{rows}"


def _emphasis_words(report: Mapping[str, Any]) -> str:
    emphasis = report.get("emphasis")
    if not emphasis:
        if report.get("agent_tools"):
            return "grid emphasis: none, nothing in these traces moves this agent's grid"
        return (
            "grid emphasis: computed against the agent's tools at simulate time "
            "(pass tools= to preview it here)"
        )
    return "extra generation weight goes to: " + "; ".join(
        f"{_AXIS_WORDS.get(axis, axis)} {_shown(values)}" for axis, values in emphasis.items()
    )


def _shown(values: list[str]) -> str:
    more = len(values) - _LISTED
    return ", ".join(values[:_LISTED]) + (f" (+{more} more)" if more > 0 else "")
