"""LangSmith over OpenTelemetry: run inputs and outputs under the plain prompt attributes."""

from __future__ import annotations

from whileai_core.dialects.spans.families.family import CHAIN, MODEL, OTHER, TOOL, Family

FAMILY = Family(
    name="langsmith",
    namespaces=("langsmith.",),
    fields={
        "conversation": (
            "langsmith.metadata.conversation_id",
            "langsmith.metadata.session_id",
            "langsmith.metadata.thread_id",
        ),
        "value_in": ("langsmith.run.inputs", "inputs"),
        "value_out": ("langsmith.run.outputs", "outputs"),
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
)
