"""What the agent did, counted: a fold into counts that merge.

`mine_traces` is the fold over one list. Shards are folded apart and merged in their order, in
any grouping, with the same answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.traces.behaviour import Signature, StepShape, signature_of
from whileai_core.traces.calls import ToolCall, tool_calls
from whileai_core.traces.faults import fault_of_call, fault_of_row, planned_fault
from whileai_core.traces.intake import as_schema_row, items_of, rows_with_items
from whileai_core.traces.labels import binary, label_of
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

_NO_WORLD_STATE = frozenset({"", "unspecified", "unknown"})


class Counts:
    """Everything the reports need to know about a run of rows.

    `rows` are the items that are objects; `n` counts the others too. Counts pickle, so that a
    shard can be mined in another process. They grow with the number
    of distinct asks and behaviours, not with the size of the rows.
    """

    def __init__(self) -> None:
        self.n = 0
        self.rows = 0
        self.graded = 0
        self.passes = 0
        self.advisory = 0
        self.tools: dict[str, list[int]] = {}
        self.faults: dict[str, int] = {}
        self.world_states: dict[str, int] = {}
        self.flawed: list[int] = []
        self.asks: dict[str, None] = {}
        self.blank_asks = 0
        self._behaviours: set[Signature] = set()
        self._shapes: dict[StepShape, StepShape] = {}

    def add(self, item: object) -> None:
        """Count one item; one that is no object counts in `n` alone."""
        row = as_schema_row(item)
        if row is None:
            self.n += 1
        else:
            self.add_row(row)

    def add_row(self, row: Row) -> None:
        """Count one row that is known to be in the schema."""
        position = self.n
        self.n += 1
        self.rows += 1
        calls = list(tool_calls(row))
        fault = self._count_calls(calls) or self._planned(row, calls)
        if fault is not None:
            self.faults[fault] = self.faults.get(fault, 0) + 1
        if self._count_label(row) == 0 or fault is not None:
            self.flawed.append(position)
        self._behaviours.add(signature_of(row, calls, self._shapes))
        self._count_texts(row)

    def merge(self, other: Counts) -> None:
        """Take in the counts of the items that follow; `other` stays as it is."""
        self.flawed.extend(self.n + position for position in other.flawed)
        for name in ("n", "rows", "graded", "passes", "advisory", "blank_asks"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for tool, (calls, faulted) in other.tools.items():
            mine = self.tools.setdefault(tool, [0, 0])
            mine[0] += calls
            mine[1] += faulted
        for mine_of, theirs in (
            (self.faults, other.faults),
            (self.world_states, other.world_states),
        ):
            for key, count in theirs.items():
                mine_of[key] = mine_of.get(key, 0) + count
        self.asks.update(other.asks)
        self._behaviours |= other._behaviours

    @property
    def behaviours(self) -> int:
        """How many distinct ways of handling a conversation were seen."""
        return len(self._behaviours)

    @property
    def unique_prompts(self) -> int:
        """How many distinct asks there are, case and spacing ignored; a blank one is one."""
        # Hashes of 64 bits in place of the texts, which would double what is held.
        folded = {hash(" ".join(ask.lower().split())) for ask in self.asks}
        return len(folded) + (self.blank_asks > 0)

    def result(self) -> dict[str, Any]:
        """Return the counts in the form of `mine_traces`."""
        return {
            "n": self.n,
            "tools": {
                tool: {"n": calls, "fault_n": faulted}
                for tool, (calls, faulted) in self.tools.items()
            },
            "faults": dict(self.faults),
            "world_states": dict(self.world_states),
            "unique_behaviors": self.behaviours,
            "flaw_rows": list(self.flawed),
            "asks": list(self.asks),
        }

    def _count_calls(self, calls: list[ToolCall]) -> str | None:
        first = None
        for call in calls:
            fault = fault_of_call(call)
            counts = self.tools.get(call.tool)
            if counts is None:
                counts = self.tools[call.tool] = [0, 0]
            counts[0] += 1
            if fault is not None:
                counts[1] += 1
                first = first or fault
        return first

    @staticmethod
    def _planned(row: Row, calls: list[ToolCall]) -> str | None:
        seen = any(call.result is not None for call in calls)
        return None if seen else planned_fault(row)

    def _count_label(self, row: Row) -> int | None:
        label = binary(row.get("reward"))
        if label is not None:
            self.graded += 1
            self.passes += label
            return label
        label = binary(row.get("qwen_reward"))
        if label is not None:
            self.advisory += 1
        return label

    def _count_texts(self, row: Row) -> None:
        ask = plain_text(row.get("prompt")).strip()
        if ask:
            self.asks[ask] = None
        else:
            self.blank_asks += 1
        state = plain_text(row.get("world_state")).strip()
        if state not in _NO_WORLD_STATE:
            self.world_states[state] = self.world_states.get(state, 0) + 1


def count_traces(rows: object) -> Counts:
    """Fold rows (a list, an iterator, one row, a path) into `Counts`."""
    counts = Counts()
    add = counts.add
    for item in items_of(rows):
        add(item)
    return counts


def mine_traces(rows: object) -> dict[str, Any]:
    """Count tools, faults, world states, behaviours and asks over rows.

    Args:
        rows: Rows as a list or iterator, one row, or a path. Items that are no objects count in
            `n` alone; objects that are not in the row schema yet are read first.

    Returns:
        `n`, `tools`, `faults`, `world_states`, `unique_behaviors`, `flaw_rows` (positions) and
        `asks`, names in order of first sight.

    Raises:
        TypeError: `rows` holds no items (None, a number).
    """
    return count_traces(rows).result()


def is_flawed(row: Row) -> bool:
    """Tell whether a row has an observed fault or the label 0."""
    return label_of(row) == 0 or fault_of_row(row) is not None


def flaw_rows(rows: object) -> list[Row]:
    """Return the rows with an observed fault or a 0 label: the same objects, in order.

    Raises:
        TypeError: `rows` holds no items (None, a number).
    """
    return [item for item, row in rows_with_items(rows) if is_flawed(row)]
