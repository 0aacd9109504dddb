"""MLflow traces: inputs and outputs as JSON, every attribute value encoded as JSON once more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.functions import json_value
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    if reading.kind == TOOL:
        reading.value_out = json_value(reading.value_out)
    elif reading.kind == MODEL and reading.system is None:
        request = decoded(reading.value_in)
        if isinstance(request, dict):  # of APIs that take instructions beside the messages
            reading.system = request.get("system") or request.get("instructions")
    usage = decoded(span.attributes.get("mlflow.chat.tokenUsage"))
    if isinstance(usage, dict):
        reading.tokens_in = reading.tokens_in or usage.get("input_tokens")
        reading.tokens_out = reading.tokens_out or usage.get("output_tokens")


FAMILY = Family(
    name="mlflow",
    namespaces=("mlflow.",),
    fields={
        "value_in": ("mlflow.spanInputs",),
        "value_out": ("mlflow.spanOutputs",),
        "transcript": ("mlflow.chat.messages",),
        "tools": ("mlflow.chat.tools",),
        "conversation": ("mlflow.trace.session",),
        "model": ("mlflow.llm.model",),
    },
    kinds={
        "mlflow.spanType": {
            "tool": TOOL,
            "agent": AGENT,
            "chat_model": MODEL,
            "llm": MODEL,
            "chain": CHAIN,
            "workflow": CHAIN,
            "task": CHAIN,
            "retriever": OTHER,
            "embedding": OTHER,
            "parser": OTHER,
            "reranker": OTHER,
            "memory": OTHER,
            "guardrail": OTHER,
            "evaluator": OTHER,
        }
    },
    finish=_finish,
    finish_on=("mlflow.spanType", "mlflow.chat.tokenUsage"),
)
