"""AgentOps: entities with input and output, tools with parameters and result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, TOOL

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    if reading.kind == TOOL:
        name = span.attributes.get("agentops.entity.name")
        reading.tool_name = reading.tool_name or name


FAMILY = Family(
    name="agentops",
    namespaces=("agentops.",),
    fields={
        "value_in": ("agentops.entity.input", "tool.parameters"),
        "value_out": ("agentops.entity.output", "tool.result"),
    },
    kinds={
        "agentops.span.kind": {
            "tool": TOOL,
            "agent": AGENT,
            "llm": MODEL,
            "session": CHAIN,
            "workflow": CHAIN,
            "operation": CHAIN,
            "task": CHAIN,
            "chain": CHAIN,
        }
    },
    finish=_finish,
    finish_on=("agentops.span.kind",),
)
