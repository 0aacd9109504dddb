"""OpenLLMetry (Traceloop): indexed prompts and completions, entities with input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.functions import is_tool_output
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    name = span.attributes.get("traceloop.entity.name")
    if reading.kind == CHAIN and "raw_output" in str(reading.value_out):
        output = decoded(reading.value_out)
        if is_tool_output(output):  # LlamaIndex runs its tools as tasks
            reading.kind, reading.tool_name = TOOL, output["tool_name"]
    if reading.kind == TOOL:
        reading.tool_name = reading.tool_name or name
    elif reading.kind == AGENT and not reading.agent:
        reading.agent = name


FAMILY = Family(
    name="traceloop",
    namespaces=("traceloop.",),
    fields={
        "value_in": ("traceloop.entity.input",),
        "value_out": ("traceloop.entity.output",),
        "tokens_in": ("llm.usage.prompt_tokens",),
        "tokens_out": ("llm.usage.completion_tokens",),
        "model": ("llm.request.model", "llm.response.model"),
        "conversation": (
            "traceloop.association.properties.conversation_id",
            "traceloop.association.properties.session_id",
            "traceloop.association.properties.thread_id",
            "traceloop.association.properties.chat_id",
        ),
    },
    kinds={"traceloop.span.kind": {"tool": TOOL, "agent": AGENT, "workflow": CHAIN, "task": CHAIN}},
    indexed={
        "gen_ai.prompt": "messages_in",
        "gen_ai.completion": "messages_out",
        "gen_ai.input.messages": "messages_in",
        "gen_ai.output.messages": "messages_out",
        "llm.prompts": "messages_in",
        "llm.completions": "messages_out",
        "llm.request.functions": "tools",
    },
    finish=_finish,
    finish_on=("traceloop.span.kind", "traceloop.entity.name"),
)
