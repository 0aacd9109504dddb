"""The Vercel AI SDK: `ai.*` attributes of `generateText`, `streamText` and their tool calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dialects.spans.families.family import Family
from whileai_core.dialects.spans.kinds import AGENT, MODEL, TOOL
from whileai_core.dialects.spans.values import decoded

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading
    from whileai_core.dialects.spans.span import Span

_OUTER = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
_SPANS = {
    "ai.toolCall": TOOL,
    **dict.fromkeys(_OUTER, AGENT),
    **{f"{name}.{inner}": MODEL for name in _OUTER for inner in ("doGenerate", "doStream")},
}
_SESSIONS = ("conversationId", "sessionId", "threadId", "chatId")
_SNAKE_SESSIONS = ("conversation_id", "session_id", "thread_id", "chat_id")


def _finish(span: Span, reading: Reading) -> None:
    attributes = span.attributes
    for key in ("ai.response.toolCalls", "ai.result.toolCalls"):
        calls = decoded(attributes.get(key))
        if isinstance(calls, list) and calls:
            blocks = [{"type": "tool-call", **call} for call in calls if isinstance(call, dict)]
            reading.gave([{"role": "assistant", "content": blocks}])
            break
    for key in ("ai.response.text", "ai.result.text", "ai.response.object", "ai.result.object"):
        text = attributes.get(key)
        if isinstance(text, str) and text:
            reading.gave([{"role": "assistant", "content": text}])
            break
    prompt = decoded(attributes.get("ai.prompt"))
    if isinstance(prompt, dict):
        reading.system = reading.system or prompt.get("system")
        asked = prompt.get("messages") or prompt.get("prompt")
        if asked and not reading.inputs:
            reading.given(asked)
    elif isinstance(prompt, str | list) and prompt and not reading.inputs:
        reading.given(prompt)


FAMILY = Family(
    name="vercel",
    namespaces=("ai.",),
    fields={
        "messages_in": ("ai.prompt.messages",),
        "arguments": ("ai.toolCall.args", "ai.toolCall.input"),
        "result": ("ai.toolCall.result", "ai.toolCall.output"),
        "tool_name": ("ai.toolCall.name",),
        "tool_id": ("ai.toolCall.id",),
        "tokens_in": ("ai.usage.promptTokens", "ai.usage.inputTokens"),
        "tokens_out": ("ai.usage.completionTokens", "ai.usage.outputTokens"),
        "model": ("ai.model.id",),
        "tools": ("ai.prompt.tools",),
        "agent": ("ai.telemetry.functionId",),
        "conversation": tuple(
            f"ai.telemetry.metadata.{key}" for key in (*_SESSIONS, *_SNAKE_SESSIONS)
        ),
    },
    kinds={"ai.operationId": {name.lower(): kind for name, kind in _SPANS.items()}},
    names=_SPANS,
    finish=_finish,
    finish_on=("ai.prompt", "ai.response.", "ai.result."),
)
