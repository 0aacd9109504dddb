"""What tracers of plain functions wrap around arguments and results, taken away."""

from __future__ import annotations

import re
from typing import Any

from whileai_core import jsonio
from whileai_core.dialects.messages.values import text_of
from whileai_core.dialects.spans.values import decoded, tool_arguments

_CALLBACK_INPUTS = ("inputs", "input_str", "input")
_CALLBACK_KEYS = frozenset({*_CALLBACK_INPUTS, "tags", "metadata", "kwargs"})
# Beside these some frameworks pass switches of their own.
_FUNCTION_KEYS = frozenset({"args", "kwargs"})
_TOOL_OUTPUT_KEYS = frozenset({"tool_name", "raw_input", "raw_output", "is_error"})
_OUTPUT_KEYS = frozenset({"output", "kwargs"})
# How Python prints a LangChain tool message.
_PRINTED_MESSAGE = re.compile(
    r"^content=(['\"])(.*?)\1 (?:\w+=.* )?tool_call_id='([^']+)'", re.DOTALL
)


def function_arguments(value: Any) -> Any:
    """Return the arguments inside `{"args": [], "kwargs": {...}}` or a callback's inputs."""
    found = decoded(value)
    if not isinstance(found, dict):
        return found
    if found.keys() == {"kwargs"} and isinstance(found["kwargs"], dict):
        return found["kwargs"]
    switches = [value for key, value in found.items() if key not in _FUNCTION_KEYS]
    if found.keys() >= _FUNCTION_KEYS and not found["args"] and {*map(type, switches)} <= {bool}:
        return found["kwargs"]
    if not found.keys() - _CALLBACK_KEYS and ("inputs" in found or "input_str" in found):
        for key in _CALLBACK_INPUTS:
            if found.get(key) not in (None, "", {}):
                return found[key]
    return found


def function_output(value: Any) -> Any:
    """Return the result inside a callback's `{"output": ..., "kwargs": {}}`."""
    found = decoded(value)
    if isinstance(found, dict) and found.keys() == _OUTPUT_KEYS:
        return found["output"]
    return found


def called_arguments(value: Any) -> Any:
    """Return arguments as recorded for a call, a LangChain callback's inputs taken out.

    Only the callback's own text of them tells: a tool may have parameters of the other names.
    """
    if isinstance(value, dict) and "input_str" in value:
        return tool_arguments(function_arguments(value))
    return value


def tool_result(value: Any) -> Any:
    """Return the result behind JSON text, a text in JSON's quotes too."""
    if type(value) is str and value[:1] == '"' and value[-1:] == '"' and len(value) > 1:
        value = json_value(value)
    return without_blocks(decoded(value))


def without_blocks(result: Any) -> Any:
    """Return the result behind Bedrock's blocks, `[{"text": …}]` or `[{"json": …}]`."""
    if type(result) is not list or not result:
        return result
    kinds = {tuple(block) if type(block) is dict else () for block in result}
    if kinds == {("json",)} and len(result) == 1:
        return result[0]["json"]
    return decoded(text_of(result)) if kinds == {("text",)} else result


def tool_message(result: Any) -> tuple[Any, str | None, bool]:
    """Take a LangChain tool message apart: its content, its call id, whether it says error.

    A result that is no such message comes back as it is.
    """
    if type(result) is str:
        printed = _PRINTED_MESSAGE.match(result) if result.startswith("content=") else None
        if printed is None:
            return result, None, False
        return decoded(printed[2]), printed[3], "status='error'" in result[printed.end(2) :]
    if type(result) is not dict:
        return result, None, False
    if is_tool_output(result):
        raw = result["raw_output"]
        said = text_of(result.get("blocks") or result.get("content") or "")
        return said if raw is None else decoded(raw), None, result["is_error"] is True
    message = _message_in(result)
    if isinstance(message, dict) and "tool_call_id" in message and "content" in message:
        call_id = message["tool_call_id"]
        failed = message.get("status") == "error"
        return decoded(message["content"]), str(call_id) if call_id else None, failed
    return result, None, False


def is_tool_output(value: Any) -> bool:
    """Tell whether a value is what LlamaIndex makes of the result of a tool."""
    return isinstance(value, dict) and value.keys() >= _TOOL_OUTPUT_KEYS


def _message_in(result: dict[str, Any]) -> Any:
    """Return the message that LangChain writes as `{"lc": 1, "kwargs"}` or `{"type", "data"}`.

    A callback writes such a message as its output.
    """
    if result.keys() == _OUTPUT_KEYS and isinstance(result["output"], dict):
        result = result["output"]
    if result.get("lc") == 1:
        return result.get("kwargs")
    return result["data"] if result.keys() == {"type", "data"} else result


def json_value(value: Any) -> Any:
    """Return the value behind one layer of JSON text, scalars too; other text as it is."""
    if type(value) is not str:
        return value
    try:
        return jsonio.strict(jsonio.loads(value))
    except ValueError:
        return value
