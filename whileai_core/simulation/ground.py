"""What a run stands on: the agent's tools and grid, and what the traces tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from whileai_core import jsonio
from whileai_core.rows import Row, row_id
from whileai_core.simulation.mint import ids_in
from whileai_core.simulation.options import grid_of
from whileai_core.simulation.records import Shapes, shapes_of
from whileai_core.traces.calls import tool_calls
from whileai_core.traces.dimensions import Axes
from whileai_core.traces.intake import rows_of
from whileai_core.traces.values import plain_text

_MOST_KNOWN_IDS = 2000


@dataclass(frozen=True, slots=True)
class Ground:
    """See the module.

    Attributes:
        tools: Schemas of the tools.
        policy: The agent's instructions.
        axes: The grid.
        traces: The rows to aim by; None when there are none.
        shapes: Forms that results have in the traces.
        known_ids: Ids that the traces name.
    """

    tools: list[dict[str, Any]]
    policy: str
    axes: Axes
    traces: list[Row] | None
    shapes: Shapes
    known_ids: tuple[str, ...]

    @classmethod
    def of(
        cls,
        tools: list[dict[str, Any]],
        policy: str,
        traces: object,
        dimensions: Mapping[str, Sequence[str]] | None,
    ) -> Ground:
        """Read tools, policy and traces.

        Raises:
            InputError: `dimensions` does not fit the grid.
        """
        rows = None if traces is None else list(rows_of(traces))
        return cls(
            tools=tools,
            policy=policy,
            axes=grid_of(tools, policy, dimensions),
            traces=rows,
            shapes=shapes_of(rows or ()),
            known_ids=tuple(_ids_of(rows or ()))[:_MOST_KNOWN_IDS],
        )

    def fingerprint(self) -> dict[str, str]:
        """Return what tells one ground from another, for a checkpoint."""
        return {
            "tools": _hash(self.tools),
            "system_prompt": _hash(self.policy),
            "dimensions": _hash(self.axes),
            "traces": _hash(None if self.traces is None else [row_id(row) for row in self.traces]),
        }


def _ids_of(rows: Sequence[Row]) -> list[str]:
    texts = [plain_text(row.get("prompt")) for row in rows]
    for row in rows:
        for call in tool_calls(row):
            texts += [value for value in call.arguments.values() if isinstance(value, str)]
    return ids_in(texts)


def _hash(value: object) -> str:
    return sha256(jsonio.canonical(value)).hexdigest()[:16]
