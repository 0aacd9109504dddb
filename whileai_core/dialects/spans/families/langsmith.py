"""LangSmith over OpenTelemetry: run inputs and outputs under the plain prompt attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import CHAIN, MODEL, OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    """Take what a run of a tool or chain was given and gave for what it is: no messages."""
    if reading.kind not in (TOOL, CHAIN):
        return
    if reading.inputs and reading.value_in is None:
        reading.value_in = _only(reading.inputs[0], "input")
    if reading.outputs and reading.value_out is None:
        reading.value_out = _only(reading.outputs[0], "output")
    reading.inputs = reading.outputs = ()


def _only(payload: Any, key: str) -> Any:
    found = decoded(payload)
    return found[key] if isinstance(found, dict) and found.keys() == {key} else payload


FAMILY = Family(
    name="langsmith",
    namespaces=("langsmith.",),
    fields={
        "conversation": (
            "langsmith.metadata.conversation_id",
            "langsmith.metadata.session_id",
            "langsmith.metadata.thread_id",
        ),
        "model": ("langsmith.metadata.ls_model_name",),
    },
    kinds={
        "langsmith.span.kind": {
            "llm": MODEL,
            "tool": TOOL,
            "chain": CHAIN,
            "prompt": OTHER,
            "parser": OTHER,
            "retriever": OTHER,
            "embedding": OTHER,
        }
    },
    finish=_finish,
    finish_on=("langsmith.span.kind",),
)
