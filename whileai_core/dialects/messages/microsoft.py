"""Contents of Semantic Kernel and the Microsoft Agent Framework, of Python and of .NET.

The kind of a content stands under `content_type`, `type` or `$type`, in snake or camel case;
.NET may write every key with a capital.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    first,
    name_of,
    result_of,
    text_id,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_KINDS = ("content_type", "$type", "type")
_CALLS = frozenset({"functioncall", "functioncallcontent"})
_RESULTS = frozenset({"functionresult", "functionresultcontent"})
_IDS = ("call_id", "callId", "id")
_SPOKEN = ("Items", "Contents", "Content", "Text")


def with_small_keys(message: dict[str, Any]) -> dict[str, Any] | None:
    """Return a message of .NET with its keys in camel case; None when it is none."""
    if "Role" not in message or all(key not in message for key in _SPOKEN):
        return None
    return {_small(key): value for key, value in message.items()}


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one content says, or None when it is not of this shape."""
    if "$type" in block:
        block = {_small(key): value for key, value in block.items()}
    kind = first(block, _KINDS)
    if not isinstance(kind, str):
        return None
    plain = kind.replace("_", "").lower()
    if plain in _CALLS:
        return [Call(_name(block), arguments_of(block.get("arguments")), _id(block))]
    if plain in _RESULTS:
        return [_result(block)]
    return None


def _small(key: str) -> str:
    return key[:1].lower() + key[1:]


def _result(block: dict[str, Any]) -> Result:
    value = result_of(block.get("result"))
    failure = block.get("exception")
    if failure:
        value = error_result(failure if value is None else value)
    name = _name(block)
    return Result(value, _id(block), None if name == name_of(None) else name)


def _name(block: dict[str, Any]) -> str:
    """Return the name the model knows the function by: plugin and function, where it has both."""
    name = block.get("name")
    if isinstance(name, str) and name:
        return name
    plugin = first(block, ("plugin_name", "pluginName"))
    function = first(block, ("function_name", "functionName"))
    if isinstance(plugin, str) and plugin and isinstance(function, str):
        return f"{plugin}-{function}"
    return name_of(function)


def _id(block: dict[str, Any]) -> str | None:
    return text_id(first(block, _IDS))
