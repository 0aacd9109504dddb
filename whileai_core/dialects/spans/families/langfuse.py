"""Langfuse's own SDK spans: observations with input, output and a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    usage = decoded(attributes.get("langfuse.observation.usage_details"))
    if isinstance(usage, dict):
        reading.tokens_in = reading.tokens_in or usage.get("input", usage.get("prompt_tokens"))
        reading.tokens_out = reading.tokens_out or usage.get(
            "output", usage.get("completion_tokens")
        )
    if str(attributes.get("langfuse.observation.level") or "").upper() == "ERROR":
        reading.failed = True
        message = attributes.get("langfuse.observation.status_message")
        reading.message = reading.message or str(message or "")


FAMILY = Family(
    name="langfuse",
    namespaces=("langfuse.",),
    fields={
        "value_in": ("langfuse.observation.input", "langfuse.trace.input"),
        "value_out": ("langfuse.observation.output", "langfuse.trace.output"),
        "model": ("langfuse.observation.model.name",),
        "conversation": ("langfuse.session.id",),
    },
    kinds={
        "langfuse.observation.type": {
            "tool": TOOL,
            "agent": AGENT,
            "generation": MODEL,
            "chain": CHAIN,
            "span": CHAIN,
            "event": OTHER,
            "retriever": OTHER,
            "embedding": OTHER,
            "evaluator": OTHER,
            "guardrail": OTHER,
        }
    },
    finish=_finish,
    finish_on=("langfuse.observation.usage_details", "langfuse.observation.level"),
)
