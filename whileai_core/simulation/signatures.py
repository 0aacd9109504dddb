"""Why rows failed, as far as rows tell: failure signatures and what failures have in common."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from whileai_core.rows import Row, row_id
from whileai_core.simulation.covering import Axes
from whileai_core.simulation.sandbox import DUPLICATE, EXISTS
from whileai_core.simulation.situations import SUCCESS, world_seed_of
from whileai_core.traces.calls import ToolCall, tool_calls
from whileai_core.traces.dimensions import FAULT_TO_AXIS, UNSPECIFIED
from whileai_core.traces.faults import fault_of_call, planned_fault
from whileai_core.traces.labels import label_of
from whileai_core.traces.values import plain_text

_FAILED, _UNGRADED, _HANDLED = 1.0, 0.5, 0.1
# Axes along which failures may have something in common, the likeliest explanation first.
_CAUSES = ("tool_condition", "world_state", "tool", "stance", "history", "rule")
_PLAIN = {"world_state": EXISTS, "stance": "ordinary", "history": "fresh"}
_PLAIN_COUNTS = 0.5  # what is as usual rarely is the reason


class Signature(NamedTuple):
    """What is known of a flaw; unknown parts are empty."""

    label: int | None
    fault: str
    world_state: str
    tool: str
    stance: str

    @property
    def text(self) -> str:
        """The signature as rows and reports carry it."""
        label = "ungraded" if self.label is None else f"label {self.label}"
        return " · ".join(part or "-" for part in (label, *self[1:]))


@dataclass(slots=True)
class Flaw:
    """The rows of one signature.

    Attributes:
        signature: The signature.
        fixed: Axis to value, for the axes that are known.
        fault_tool: The tool the fault was met at, where it was seen.
        weight: How much such rows count.
        parents: Ids of the rows.
        worlds: What their worlds depended on, where it is known.
        histories: Values of the history axis among them.
    """

    signature: Signature
    fixed: dict[str, str]
    fault_tool: str | None
    weight: float
    parents: list[str] = field(default_factory=list)
    worlds: list[str | None] = field(default_factory=list)
    histories: list[str] = field(default_factory=list)

    @property
    def n(self) -> int:
        """How many rows have the signature."""
        return len(self.parents)

    @property
    def handled(self) -> bool:
        """Whether the agent passed, fault or not."""
        return self.signature.label == 1

    @property
    def is_capability(self) -> bool:
        """Whether nothing but the ask can have caused the failure."""
        conditions = (self.fixed.get("tool_condition"), self.fixed.get("world_state", EXISTS))
        return self.signature.label == 0 and conditions == (SUCCESS, EXISTS)


class Reading(NamedTuple):
    """What one row says about the grid: its values, as far as known, and its fault."""

    values: dict[str, str]
    fault: str
    fault_tool: str | None


def lies_in(row: Row, fixed: Mapping[str, str], axes: Axes | None = None) -> bool:
    """Tell whether a row has some values: in what its world showed, and in what it was about."""
    values = read_row(row, axes).values
    return all(values.get(axis) == value for axis, value in fixed.items())


def read_row(row: Row, axes: Axes | None = None) -> Reading:
    """Return where a row lies in the grid, from its labels and from what its tools answered.

    Args:
        row: The row.
        axes: The grid; values it does not have are left out. None takes every value.
    """

    def known(axis: str, value: str) -> bool:
        return bool(value) and (axes is None or value in axes.get(axis, ()))

    stated = row.get("scenario_dimensions")
    values = {
        axis: value
        for axis, value in (stated.items() if isinstance(stated, dict) else ())
        if known(axis, value)
    }
    calls = list(tool_calls(row))
    faulty, fault = _telling_fault(row, calls)
    axis, value = FAULT_TO_AXIS.get(fault, ("", ""))
    met = axis == "tool_condition" and known(axis, value)
    values["tool_condition"] = value if met else SUCCESS
    state = plain_text(row.get("world_state")).strip() or values.get("world_state", "")
    if not state and axis == "world_state":
        state = value
    if not state and faulty is not None and "ambiguous" in str(faulty.answer.get("reason")):
        state = DUPLICATE
    stance = values.get("stance") or plain_text(row.get("stance"))
    called = [faulty.tool] if faulty is not None else [call.tool for call in calls]
    tool = values.get("tool") or next((name for name in called if known("tool", name)), "")
    read = {"world_state": state, "stance": stance, "tool": tool}
    values |= {axis: value for axis, value in read.items() if known(axis, value)}
    return Reading(values, fault, faulty.tool if faulty is not None else None)


def flaws_of(rows: Iterable[Row], axes: Axes, causes: set[tuple[str, str]]) -> list[Flaw]:
    """Group flawed rows by signature; the gravest and most frequent signatures come first.

    Args:
        rows: Rows, the flawed ones among them.
        axes: The grid.
        causes: Values that failures have in common (`common_causes`). They are fixed as well
            where they lie on axes the signature leaves open.
    """
    flaws: dict[Signature, Flaw] = {}
    for row in rows:
        label = label_of(row)
        reading = read_row(row, axes)
        if label != 0 and not reading.fault:
            continue
        values = reading.values
        signature = Signature(
            label,
            reading.fault,
            values.get("world_state", ""),
            values.get("tool", ""),
            values.get("stance", ""),
        )
        flaw = flaws.get(signature)
        if flaw is None:
            weight = _UNGRADED if label is None else (_HANDLED if label else _FAILED)
            names = ("tool", "stance", "world_state", "tool_condition")
            fixed = {axis: values[axis] for axis in names if axis in values}
            flaw = flaws[signature] = Flaw(signature, fixed, reading.fault_tool, weight)
        for axis in ("history", "rule"):
            if (axis, values.get(axis)) in causes:
                flaw.fixed.setdefault(axis, values[axis])
        if "history" in values and values["history"] not in flaw.histories:
            flaw.histories.append(values["history"])
        flaw.worlds.append(world_seed_of(row))
        flaw.parents.append(str(row.get("scenario_id") or row.get("task_id") or row_id(row)))
    return sorted(flaws.values(), key=lambda flaw: (-flaw.weight, -flaw.n))


def common_causes(rows: Sequence[Row], axes: Axes) -> set[tuple[str, str]]:
    """Return the fewest axis values that, between them, occur in all failing rows.

    A value counts for the failures it would explain, times the share of its rows that fail, and
    half if it is the ordinary one of its axis. Of values that explain equally much a fault or a
    state is taken alone, since it speaks for itself, and otherwise all of them.
    """
    readings = [(_suspects(read_row(row, axes).values), label_of(row)) for row in rows]
    failing = [suspects for suspects, label in readings if label == 0]
    passing = Counter(one for suspects, label in readings if label == 1 for one in suspects)
    all_failing = Counter(one for suspects in failing for one in suspects)
    causes: set[tuple[str, str]] = set()
    while explained := Counter(one for suspects in failing for one in suspects):
        scores = {
            suspect: count
            * _fail_rate(all_failing[suspect], passing[suspect])
            * (_PLAIN_COUNTS if _is_plain(suspect) else 1)
            for suspect, count in explained.items()
        }
        best = max(scores.values())
        causes.update(_likeliest([one for one, score in scores.items() if score == best]))
        failing = [suspects for suspects in failing if not suspects & causes]
    return causes


def _likeliest(suspects: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the suspects to believe in among those that explain equally much."""
    odd = [suspect for suspect in suspects if not _is_plain(suspect)]
    if not odd:  # a state of the world is the last thing to blame for being as usual
        return sorted(suspects, key=lambda suspect: (suspect[0] == "world_state", suspect))[:1]
    ranked = sorted(odd, key=lambda suspect: (_CAUSES.index(suspect[0]), suspect))
    return ranked[:1] if ranked[0][0] in ("tool_condition", "world_state") else ranked


def _is_plain(suspect: tuple[str, str]) -> bool:
    return _PLAIN.get(suspect[0]) == suspect[1]


def _suspects(values: Mapping[str, str]) -> set[tuple[str, str]]:
    """Return the values of a row that can explain a failure."""
    return {
        (axis, value)
        for axis, value in values.items()
        if axis in _CAUSES and value not in (SUCCESS, UNSPECIFIED)
    }


def _fail_rate(failed: int, passed: int) -> float:
    return (failed + 1) / (failed + passed + 2)


def _telling_fault(row: Row, calls: list[ToolCall]) -> tuple[ToolCall | None, str]:
    """Return the call that met a fault, and the fault; the planned one if no result was seen.

    Of several the first counts in which a tool failed: what a tool says of a record comes from
    the state of the world, which is known by itself.
    """
    met = [(call, fault) for call in calls if (fault := fault_of_call(call)) is not None]
    for call, fault in met:
        if FAULT_TO_AXIS.get(fault, ("", ""))[0] == "tool_condition":
            return call, fault
    if met:
        return met[0]
    seen = any(call.result is not None for call in calls)
    return None, "" if seen else planned_fault(row) or ""
