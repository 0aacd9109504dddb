"""Monocle: span types, and data on the events `data.input` and `data.output`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, CHAIN, MODEL, OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span, SpanEvent

_ROLES = frozenset({"system", "user", "human", "assistant", "ai", "tool", "developer"})


def _input(event: SpanEvent, reading: Reading) -> None:
    value = event.attributes.get("input")
    if value in (None, "", []):
        return
    if reading.kind == TOOL:
        reading.arguments = reading.arguments or value
    elif reading.kind == MODEL:
        reading.given(_messages(value, "user"))
    else:
        reading.value_in = reading.value_in or value


def _output(event: SpanEvent, reading: Reading) -> None:
    value = event.attributes.get("response")
    if value in (None, "", []):
        value = event.attributes.get("output")
    if value in (None, "", []):
        return
    if reading.kind == TOOL:
        reading.result = value if reading.result is None else reading.result
    elif reading.kind == MODEL:
        reading.gave(_messages(value, "assistant"))
    else:
        reading.value_out = reading.value_out or value


def _metadata(event: SpanEvent, reading: Reading) -> None:
    reading.tokens_in = reading.tokens_in or event.attributes.get("prompt_tokens")
    reading.tokens_out = reading.tokens_out or event.attributes.get("completion_tokens")


def _messages(value: Any, role: str) -> list[Any]:
    """Read texts, and objects of one role to its text (`{"user": "hi"}`), as messages."""
    messages: list[Any] = []
    for item in value if isinstance(value, list) else [value]:
        item = decoded(item)
        if isinstance(item, dict) and item.keys() <= _ROLES:
            messages += [{"role": who, "content": text} for who, text in item.items()]
        elif isinstance(item, str):
            messages.append({"role": role, "content": item})
        else:
            messages.append(item)
    return messages


def _finish(span: Span, reading: Reading) -> None:
    name = span.attributes.get("entity.1.name")
    if reading.kind == TOOL:
        reading.tool_name = reading.tool_name or name
    elif reading.kind == AGENT:
        reading.agent = reading.agent or name


FAMILY = Family(
    name="monocle",
    namespaces=("monocle", "entity.", "scope.agentic.", "span."),
    fields={
        "conversation": ("scope.agentic.session",),
    },
    kinds={
        "span.type": {
            "inference": MODEL,
            "inference.framework": MODEL,
            "inference.modelapi": OTHER,
            "agentic.tool.invocation": TOOL,
            "agentic.mcp.invocation": TOOL,
            "agentic.invocation": AGENT,
            "agentic.request": CHAIN,
            "agentic.turn": CHAIN,
            "agentic.delegation": OTHER,
            "workflow": CHAIN,
            "retrieval": OTHER,
        }
    },
    events={"data.input": _input, "data.output": _output, "metadata": _metadata},
    finish=_finish,
    finish_on=("span.type",),
)
