"""An agent's tools as it declares them: schemas, plain functions, tool objects."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator
from typing import Any

_SCHEMA_KEYS = ("parameters", "input_schema", "inputSchema", "params_json_schema")
_LISTS = ("functionDeclarations", "function_declarations", "tools")

_JSON_TYPES: dict[Any, str] = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    tuple: "array",
    set: "array",
    dict: "object",
}


def tool_schemas(tools: object, *, strict: bool = True) -> list[dict[str, Any]]:
    """Return the tools of an agent as function schemas (`name`, `description`, `parameters`).

    Args:
        tools: Schemas (wrapped in `function`, in Bedrock's `toolSpec`, listed in Gemini's
            `functionDeclarations`, or bare; `input_schema` and `inputSchema` are read too), plain
            functions, tool objects; one of them or several. None is none.
        strict: Raise for what is no tool, instead of leaving it out.

    Raises:
        TypeError: An entry is no tool, and `strict` is set.
    """
    if tools is None:
        return []
    if isinstance(tools, dict) or callable(tools) or not isinstance(tools, Iterable):
        tools = [tools]
    schemas = []
    for position, tool in enumerate(_each(tools)):
        schema = _schema_of(tool)
        if schema is not None:
            schemas.append(schema)
        elif strict:
            raise TypeError(
                f"tool {position} is {type(tool).__name__}; expected a schema object, "
                "a function or an object with a name"
            )
    return schemas


def _each(tools: Iterable[object]) -> Iterator[object]:
    """Yield tools one by one; some producers wrap one of them, or list several under a key."""
    for tool in tools:
        listed = [tool[key] for key in _LISTS if key in tool] if isinstance(tool, dict) else []
        if listed and isinstance(listed[0], list):
            yield from _each(listed[0])
        elif isinstance(tool, dict) and isinstance(tool.get("toolSpec"), dict):
            yield tool["toolSpec"]
        else:
            yield tool


def tool_of_function(function: Callable[..., Any]) -> dict[str, Any]:
    """Draft the schema of a plain function from its signature and docstring."""
    properties: dict[str, Any] = {}
    required = []
    hints = _hints(function)
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or name == "self":
            continue
        properties[name] = {"type": _json_type(hints.get(name, str))}
        if parameter.default is parameter.empty:
            required.append(name)
    return {
        "name": getattr(function, "__name__", type(function).__name__),
        "description": inspect.getdoc(function) or "",
        "parameters": {"type": "object", "properties": properties, "required": required},
    }


def _schema_of(tool: object) -> dict[str, Any] | None:
    if isinstance(tool, dict):
        inner = tool.get("function")
        schema = inner if isinstance(inner, dict) else tool
        return _schema(schema.get("name"), schema.get("description"), schema.get)
    if inspect.isroutine(tool):
        return tool_of_function(tool)
    name = getattr(tool, "name", None)
    if isinstance(name, str):
        return _schema(
            name, getattr(tool, "description", None), lambda key: getattr(tool, key, None)
        )
    return tool_of_function(tool) if callable(tool) and not isinstance(tool, type) else None


def _schema(name: object, description: object, read: Callable[[str], object]) -> dict[str, Any]:
    parameters = next((found for key in _SCHEMA_KEYS if isinstance(found := read(key), dict)), {})
    if isinstance(parameters.get("json"), dict):  # as Bedrock wraps it
        parameters = parameters["json"]
    return {
        "name": "" if name is None else str(name).strip(),
        "description": description if isinstance(description, str) else "",
        "parameters": parameters,
    }


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function)
    except (NameError, TypeError, AttributeError):  # annotations that do not resolve here
        return {}


def _json_type(hint: Any) -> str:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        return _json_type(options[0]) if len(options) == 1 else "string"
    if origin is typing.Literal:
        return _json_type(type(typing.get_args(hint)[0]))
    return _JSON_TYPES.get(origin or hint, "string")
