"""AutoGen messages, of AgentChat and of model contexts: `type` is the class, `source` the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Call, Result, Say
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
    text_of,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_SPOKEN = frozenset(
    {"TextMessage", "MultiModalMessage", "HandoffMessage", "ToolCallSummaryMessage"}
)
_CALLS = frozenset({"ToolCallRequestEvent", "ToolCallMessage"})
_RESULTS = frozenset(
    {"ToolCallExecutionEvent", "ToolCallResultMessage", "FunctionExecutionResultMessage"}
)
_CONTEXT = frozenset({"UserMessage", "AssistantMessage"})
_SILENT = frozenset(
    {
        "StopMessage",
        "ThoughtEvent",
        "MemoryQueryEvent",
        "UserInputRequestedEvent",
        "ModelClientStreamingChunkEvent",
        "SelectSpeakerEvent",
        "SelectorEvent",
        "CodeGenerationEvent",
        "CodeExecutionEvent",
    }
)
_TYPES = _SPOKEN | _CALLS | _RESULTS | _CONTEXT | _SILENT
_USERS = ("user", "user_proxy", "userproxy", "human")


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message is of this shape."""
    kind = message.get("type")
    return isinstance(kind, str) and (
        kind in _TYPES or (kind.startswith("StructuredMessage") and "source" in message)
    )


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says."""
    kind = message["type"]
    content = message.get("content")
    if kind in _SILENT:
        return []
    if kind in _RESULTS:
        return [_result(answer) for answer in _objects(content)]
    if kind in _CALLS or (kind == "AssistantMessage" and isinstance(content, list)):
        return [_call(call) for call in _objects(content)]
    text = text_of(content, joiner)
    if kind == "UserMessage" or (kind != "AssistantMessage" and _is_user(message.get("source"))):
        return [Ask(text)]
    return [Say(text)] if text else []


def _is_user(source: object) -> bool:
    return isinstance(source, str) and source.lower() in _USERS


def _objects(content: object) -> list[dict[str, Any]]:
    return [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []


def _call(call: dict[str, Any]) -> Call:
    return Call(
        name_of(call.get("name")), arguments_of(call.get("arguments")), text_id(call.get("id"))
    )


def _result(answer: dict[str, Any]) -> Result:
    value = result_of(answer.get("content"))
    name = answer.get("name")
    return Result(
        error_result(value) if answer.get("is_error") else value,
        text_id(answer.get("call_id")),
        name if isinstance(name, str) else None,
    )
