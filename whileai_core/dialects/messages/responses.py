"""Items of the OpenAI Responses API and the Agents SDK: calls and outputs without a role."""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    free_arguments,
    name_of,
    result_of,
    text_id,
)

_IDS = ("call_id", "id")
# Tools the platform runs itself: one item is both the call and its outcome.
_HOSTED = {
    "web_search_call": ("action", "results"),
    "file_search_call": ("queries", "results"),
    "code_interpreter_call": ("code", "outputs"),
    "image_generation_call": ("prompt", None),
    "computer_call": ("action", None),
    "local_shell_call": ("action", None),
    "shell_call": ("action", None),
    "apply_patch_call": ("operation", None),
    "tool_search_call": ("arguments", None),
}
_SILENT = frozenset({"reasoning", "compaction", "item_reference", "mcp_list_tools"})


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message is an item of this shape."""
    kind = message.get("type")
    return isinstance(kind, str) and (
        kind in _HOSTED
        or kind in _SILENT
        or kind.startswith(("function_call", "custom_tool_call"))
        or kind in ("mcp_call", "mcp_approval_request")
        or kind.endswith("_call_output")
    )


def item_events(item: dict[str, Any]) -> list[Event] | None:
    """Return what one item says, or None when it is not of this shape."""
    return _events(item) if matches(item) else None


def _events(item: dict[str, Any]) -> list[Event]:
    kind = item["type"]
    if kind.endswith("_output"):
        return [_output(item)]
    if kind == "function_call":
        return [Call(name_of(item.get("name")), arguments_of(item.get("arguments")), _id(item))]
    if kind == "custom_tool_call":
        return [Call(name_of(item.get("name")), free_arguments(item.get("input")), _id(item))]
    if kind == "mcp_call":
        return _mcp_call(item)
    if kind in _HOSTED:
        return _hosted_call(item)
    return []


def _id(item: dict[str, Any]) -> str | None:
    return text_id(first(item, _IDS))


def _output(item: dict[str, Any]) -> Result:
    value = result_of(item.get("output"))
    if item.get("status") in ("failed", "error"):
        value = error_result(value)
    return Result(value, _id(item))


def _mcp_call(item: dict[str, Any]) -> list[Event]:
    call = Call(name_of(item.get("name")), arguments_of(item.get("arguments")), _id(item))
    error = item.get("error")
    if error:
        return [call, Result(error_result(error), call.id)]
    return (
        [call] if item.get("output") is None else [call, Result(result_of(item["output"]), call.id)]
    )


def _hosted_call(item: dict[str, Any]) -> list[Event]:
    kind = item["type"]
    argument, outcome = _HOSTED[kind]
    value = item.get(argument)
    arguments = value if isinstance(value, dict) else {} if value is None else {argument: value}
    call = Call(kind.removesuffix("_call"), arguments, _id(item))
    answer = item.get(outcome) if outcome else None
    return [call] if answer is None else [call, Result(answer, call.id)]
