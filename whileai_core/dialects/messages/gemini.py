"""Parts of Gemini contents: `functionCall`, `functionResponse`, code execution.

The REST interface writes camel case, the Python SDK snake case.
"""

from __future__ import annotations

from typing import Any

from whileai_core.dialects.events import Call, Event, Result
from whileai_core.dialects.messages.values import arguments_of, first, name_of, result_of, text_id

_CODE_TOOL = "code_execution"


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one part says, or None when it is not of this shape."""
    call = first(block, ("functionCall", "function_call"))
    if isinstance(call, dict):
        return [Call(name_of(call.get("name")), arguments_of(call.get("args")), _id(call))]
    answer = first(block, ("functionResponse", "function_response"))
    if isinstance(answer, dict):
        name = answer.get("name")
        value = result_of(answer.get("response"))
        return [Result(value, _id(answer), name if isinstance(name, str) else None)]
    code = first(block, ("executableCode", "executable_code"))
    if isinstance(code, dict):
        return [Call(_CODE_TOOL, code)]
    output = first(block, ("codeExecutionResult", "code_execution_result"))
    if isinstance(output, dict):
        return [Result(output, None, _CODE_TOOL)]
    return None


def _id(value: dict[str, Any]) -> str | None:
    return text_id(value.get("id"))
