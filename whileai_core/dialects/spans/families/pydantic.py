"""Pydantic AI and Logfire: whole conversations on the agent span, events as one attribute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, MODEL, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span


def _finish(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    for key in ("all_messages_events", "events"):
        events = decoded(attributes.get(key))
        if isinstance(events, list) and not reading.inputs:
            _read_events(events, reading)
    request = decoded(attributes.get("request_data"))
    if isinstance(request, dict):
        asked = request.get("messages") or request.get("input") or request.get("contents")
        if asked:
            reading.given(asked)
        reading.system = reading.system or request.get("system") or request.get("instructions")
        reading.tools = reading.tools or request.get("tools")
        reading.model = reading.model or request.get("model")
    if "logfire.msg_template" in attributes and reading.kind in (TOOL, MODEL, AGENT):
        _read_openai_agents(attributes, reading)
    response = decoded(attributes.get("response_data"))
    if isinstance(response, dict):
        for key in ("message", "content", "combined_chunk_content", "text"):
            if response.get(key):
                said = response[key]
                reading.gave(
                    [said] if isinstance(said, dict) else [{"role": "assistant", "content": said}]
                )
                break


def _read_openai_agents(attributes: dict[str, Any], reading: Reading) -> None:
    """Read what Logfire writes of the OpenAI Agents SDK under names without a namespace."""
    name, asked, said = (attributes.get(key) for key in ("name", "input", "output"))
    if reading.kind == TOOL:
        reading.tool_name = reading.tool_name or name
        reading.arguments = asked if reading.arguments is None else reading.arguments
        reading.result = said if reading.result is None else reading.result
    elif reading.kind == AGENT:
        reading.agent = reading.agent or name
    elif said and not reading.outputs:
        if asked:
            reading.inputs = (asked,)  # the request data may hold the answer too
        reading.gave(said)


def _read_events(events: list[Any], reading: Reading) -> None:
    history, said = [], []
    for event in events:
        if not isinstance(event, dict):
            continue
        name = event.get("event.name") or event.get("event_name") or ""
        body = event.get("body") if isinstance(event.get("body"), dict) else event
        if name == "gen_ai.choice":
            message = body.get("message") if isinstance(body, dict) else None
            said.append(message if isinstance(message, dict) else body)
        elif isinstance(body, dict) and ("role" in body or name):
            role = name.split(".")[1] if name.count(".") == 2 else "user"
            message = {"role": role, **body}
            if message["role"] == "tool" and "tool_call_id" not in message:
                message["tool_call_id"] = message.get("id")
            history.append(message)
    if said:
        reading.given(history)
        reading.gave(said)
    elif history:
        reading.transcript = history


FAMILY = Family(
    name="pydantic",
    namespaces=("pydantic_ai.", "logfire."),
    fields={
        "transcript": ("pydantic_ai.all_messages", "all_messages"),
        "arguments": ("tool_arguments",),
        "result": ("tool_response",),
        "agent": ("agent_name",),
        "model": ("model_name",),
        "value_out": ("final_result",),
    },
    names={
        "agent run": AGENT,
        "Agent run: {name!r}": AGENT,
        "Function: {name}": TOOL,
        "Chat completion with {gen_ai.request.model!r}": MODEL,
        "Responses API with {gen_ai.request.model!r}": MODEL,
    },
    finish=_finish,
    finish_on=(
        "all_messages_events",
        "events",
        "request_data",
        "response_data",
        "logfire.msg_template",
    ),
)
