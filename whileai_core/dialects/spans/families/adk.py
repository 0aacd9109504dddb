"""Google's Agent Development Kit: whole Gemini requests and responses under `gcp.vertex.agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span

# Parallel calls have a span each, and one more for the message with all their results.
_MERGED = "(merged tools)"


def _finish(span: Span, reading: Reading) -> None:
    if reading.kind == TOOL:
        if reading.tool_name == _MERGED:
            reading.kind, reading.arguments, reading.result = OTHER, None, None
        return
    request = decoded(span.attributes.get("gcp.vertex.agent.llm_request"))
    if isinstance(request, dict) and request:
        if request.get("contents"):
            reading.given(request["contents"])
        config = request.get("config")
        if isinstance(config, dict):
            reading.system = reading.system or config.get("system_instruction")
            reading.tools = reading.tools or _declarations(config.get("tools"))
    response = decoded(span.attributes.get("gcp.vertex.agent.llm_response"))
    if isinstance(response, dict) and isinstance(response.get("content"), dict):
        reading.gave([{"role": "model", **response["content"]}])


def _declarations(tools: Any) -> list[Any] | None:
    found = [
        declaration
        for tool in (tools if isinstance(tools, list) else ())
        if isinstance(tool, dict)
        for declaration in tool.get("function_declarations") or ()
    ]
    return found or None


FAMILY = Family(
    name="adk",
    namespaces=("gcp.vertex.agent.",),
    fields={
        "arguments": ("gcp.vertex.agent.tool_call_args",),
        "result": ("gcp.vertex.agent.tool_response",),
        "conversation": ("gcp.vertex.agent.session_id",),
    },
    finish=_finish,
    finish_on=(
        "gcp.vertex.agent.llm_request",
        "gcp.vertex.agent.llm_response",
        "gcp.vertex.agent.event_id",
    ),
)
