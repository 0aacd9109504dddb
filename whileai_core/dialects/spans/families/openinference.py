"""OpenInference: Arize's conventions, written by Phoenix's and many frameworks' instrumentors."""

from __future__ import annotations

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, OTHER, TOOL

FAMILY = Family(
    name="openinference",
    namespaces=("llm.", "input.", "output.", "openinference.", "tool."),
    fields={
        "messages_in": ("llm.input_messages",),
        "messages_out": ("llm.output_messages",),
        "value_in": ("input.value",),
        "value_out": ("output.value",),
        "tokens_in": ("llm.token_count.prompt",),
        "tokens_out": ("llm.token_count.completion",),
        "model": ("llm.model_name",),
        "agent": ("agent.name",),
        "tools": ("llm.tools",),
        "tool_id": ("tool.id",),
    },
    kinds={
        "openinference.span.kind": {
            "tool": TOOL,
            "agent": AGENT,
            "llm": MODEL,
            "chain": CHAIN,
            "prompt": OTHER,
            "retriever": OTHER,
            "reranker": OTHER,
            "embedding": OTHER,
            "guardrail": OTHER,
            "evaluator": OTHER,
        }
    },
    indexed={
        "llm.input_messages": "messages_in",
        "llm.output_messages": "messages_out",
        "llm.tools": "tools",
    },
)
