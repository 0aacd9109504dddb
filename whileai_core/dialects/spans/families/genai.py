"""OpenTelemetry's GenAI conventions, from their first drafts to today's, and close relatives.

Messages stand in attributes (JSON text or structure), in one attribute per event, or on the
`gen_ai.client.inference.operation.details` event. Any-agent and Strands write this family.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, MODEL, OTHER, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span, SpanEvent

_CONVERSATIONS = (
    "gen_ai.conversation.id",
    "conversation.id",
    "session.id",
    "gen_ai.session.id",
    "thread.id",
)
_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}


def _details(event: SpanEvent, reading: Reading) -> None:
    for key, take in (
        ("gen_ai.input.messages", reading.given),
        ("gen_ai.output.messages", reading.gave),
        ("gen_ai.prompt", reading.given),
        ("gen_ai.completion", reading.gave),
    ):
        value = event.attributes.get(key)
        if value not in (None, ""):
            take(value)
    reading.system = reading.system or event.attributes.get("gen_ai.system_instructions")
    reading.tools = reading.tools or event.attributes.get("gen_ai.tool.definitions")


def _message(event: SpanEvent, reading: Reading) -> None:
    """Read one message of the conversation so far, or on a tool span the call it runs."""
    about = event.attributes
    content = decoded(_content(about))
    if reading.kind == TOOL and event.name == "gen_ai.tool.message":
        reading.arguments = content if reading.arguments is None else reading.arguments
        reading.tool_id = reading.tool_id or about.get("id")
        return
    reading.given([_as_message(_ROLES[event.name], content, about)])


def _choice(event: SpanEvent, reading: Reading) -> None:
    about = event.attributes
    content = decoded(_content(about))
    if reading.kind == TOOL:
        reading.result = content if reading.result is None else reading.result
        return
    reading.gave([_as_message("assistant", content, about)])


def _content(about: dict[str, Any]) -> Any:
    for key in ("content", "message", "gen_ai.event.content", "body", "event_body"):
        value = about.get(key)
        if value is not None:
            return value
    return None


def _as_message(role: str, content: Any, about: dict[str, Any]) -> dict[str, Any]:
    if isinstance(content, dict) and ("role" in content or "content" in content):
        message = {"role": role, **content}
    elif isinstance(content, dict) and isinstance(content.get("message"), dict):
        message = {"role": role, **content["message"]}
    else:
        message = {"role": role, "content": content}
    for key in ("tool_calls", "id", "name"):
        if about.get(key) is not None:
            message.setdefault(key, decoded(about[key]))
    if role == "tool" and "tool_call_id" not in message and message.get("id") is not None:
        message["tool_call_id"] = message["id"]
    return message


def _finish(span: Span, reading: Reading) -> None:
    """Tell threads of talk from threads of the machine, and read any-agent's calls.

    Any-agent writes the calls of one message as a list of `{"tool.name", "tool.args"}`.
    """
    thread = span.attributes.get("thread.id")
    if type(thread) is int or "thread.name" in span.attributes:
        reading.conversation = None if reading.conversation == thread else reading.conversation
    calls = decoded(reading.value_out)
    if (
        isinstance(calls, list)
        and calls
        and all(isinstance(call, dict) and "tool.name" in call for call in calls)
    ):
        functions = [
            {"function": {"name": call["tool.name"], "arguments": call.get("tool.args")}}
            for call in calls
        ]
        reading.value_out = [{"role": "assistant", "tool_calls": functions}]


FAMILY = Family(
    name="genai",
    namespaces=("gen_ai.",),
    fields={
        "conversation": _CONVERSATIONS,
        "messages_in": ("gen_ai.input.messages", "gen_ai.prompt"),
        "messages_out": ("gen_ai.output.messages", "gen_ai.completion"),
        "system": ("gen_ai.system_instructions", "system_prompt"),
        "arguments": (
            "gen_ai.tool.call.arguments",
            "gen_ai.tool.input",
            "tool.input",
            "gen_ai.tool.args",
            "gen_ai.tool.arguments",
        ),
        "result": (
            "gen_ai.tool.call.result",
            "gen_ai.tool.output",
            "tool.output",
            "gen_ai.tool.result",
            "gen_ai.tool.call.output",
        ),
        "tool_name": ("gen_ai.tool.name", "tool.name"),
        "tool_id": ("gen_ai.tool.call.id", "tool.call.id", "tool_call.id"),
        "tool_status": ("gen_ai.tool.status", "tool.status", "otel.status_code", "error"),
        "response_id": ("gen_ai.response.id",),
        "tokens_in": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
        "tokens_out": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
        "model_version": ("zeroproof.model_version",),
        "model": ("gen_ai.request.model", "gen_ai.response.model"),
        "agent": ("gen_ai.agent.name",),
        "tools": ("gen_ai.tool.definitions",),
        "error": ("error.type",),
        "value_in": ("gen_ai.input",),
        "value_out": ("gen_ai.output",),
    },
    kinds={
        "gen_ai.operation.name": {
            "execute_tool": TOOL,
            "invoke_agent": AGENT,
            "create_agent": AGENT,
            "invoke_workflow": AGENT,
            "chat": MODEL,
            "text_completion": MODEL,
            "completion": MODEL,
            "generate_content": MODEL,
            "call_llm": MODEL,
            "response": MODEL,
            "responses": MODEL,
            "embeddings": OTHER,
        }
    },
    events={
        "gen_ai.client.inference.operation.details": _details,
        "gen_ai.content.prompt": _details,
        "gen_ai.content.completion": _details,
        "gen_ai.choice": _choice,
        **dict.fromkeys(_ROLES, _message),
    },
    finish=_finish,
    finish_on=("gen_ai.output", "thread.id"),
)
