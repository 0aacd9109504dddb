"""The OpenAI Agents SDK's own trace records, as its exporters send them: `trace`, `trace.span`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.instants import instant
from whileai_core.dialects.spans.identity import span_id, trace_id
from whileai_core.dialects.spans.span import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

# Kind of span to the attributes that its fields are under other producers.
_FIELDS: dict[str, tuple[str, dict[str, str]]] = {
    "agent": ("invoke_agent", {"name": "gen_ai.agent.name"}),
    "function": (
        "execute_tool",
        {
            "name": "gen_ai.tool.name",
            "input": "gen_ai.tool.call.arguments",
            "output": "gen_ai.tool.call.result",
        },
    ),
    "generation": (
        "chat",
        {
            "input": "gen_ai.input.messages",
            "output": "gen_ai.output.messages",
            "model": "gen_ai.request.model",
        },
    ),
    "response": ("chat", {"response_id": "gen_ai.response.id"}),
}
_TOKENS = ("input_tokens", "output_tokens")


def is_agents_record(value: Mapping[str, Any]) -> bool:
    """Tell whether an object is a trace or a span of the SDK's own export."""
    kind = value.get("object")
    return (kind == "trace.span" and isinstance(value.get("span_data"), dict)) or (
        kind == "trace" and "workflow_name" in value
    )


def agents_span(value: Mapping[str, Any]) -> Span:
    """Read a record of which `is_agents_record`; a trace is the span around all of its spans."""
    if value["object"] == "trace":
        group = value.get("group_id")
        attributes = {"gen_ai.conversation.id": group} if isinstance(group, str) and group else {}
        return Span(
            trace_id(value.get("id")), name=str(value["workflow_name"]), attributes=attributes
        )
    error = value.get("error")
    about = error if isinstance(error, dict) else {}
    return Span(
        trace_id(value.get("trace_id")),
        span_id(value.get("id")),
        span_id(value.get("parent_id")),
        str(value["span_data"].get("name") or ""),
        instant(value.get("started_at")),
        instant(value.get("ended_at")),
        _attributes(value["span_data"]),
        failed=bool(error),
        message=str(about.get("message") or ""),
    )


def _attributes(data: dict[str, Any]) -> dict[str, Any]:
    kind = data.get("type")
    if kind == "guardrail":
        return {"openinference.span.kind": "guardrail"}
    if not isinstance(kind, str) or kind not in _FIELDS:
        return {}
    operation, names = _FIELDS[kind]
    attributes = {"gen_ai.operation.name": operation}
    for field, name in names.items():
        if data.get(field) is not None:
            attributes[name] = data[field]
    usage = data.get("usage")
    for tokens in _TOKENS:
        if isinstance(usage, dict) and usage.get(tokens) is not None:
            attributes[f"gen_ai.usage.{tokens}"] = usage[tokens]
    return attributes
