"""The tool surface as traces show it: names, argument names, drafted schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.traces.calls import arguments_of
from whileai_core.traces.intake import rows_of
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

_DEEPEST = 8

# Argument names and value types of one call; calls of one tool repeat a few of these.
_Form = tuple[tuple[str, ...], tuple[type, ...]]


def tools_from_traces(traces: object) -> list[dict[str, Any]]:
    """Return the observed tools with the union of their argument names, sorted by name.

    Args:
        traces: Rows as a list or iterator, one row, or a path; None gives no tools.
    """
    seen: dict[str, set[str]] = {}
    for row in rows_of(traces):
        steps = row.get("steps")
        if type(steps) is not list:
            continue
        for step in steps:
            if isinstance(step, dict) and (tool := step.get("tool")):
                if type(tool) is not str:
                    tool = plain_text(tool)
                arguments = step.get("arguments")
                if type(arguments) is not dict:
                    arguments = arguments_of(step)
                if tool in seen:
                    seen[tool].update(arguments)
                else:
                    seen[tool] = set(arguments)
    return [_observed_tool(name, seen[name]) for name in sorted(seen)]


def infer_harness(rows: object) -> dict[str, Any]:
    """Draft a harness from rows: tool schemas with observed types, and call counts.

    Null tells no type. An argument seen with more than one type is a string. Arrays carry the
    type of their items, objects their properties, where those were seen.

    Args:
        rows: Rows as a list or iterator, one row, or a path; None gives an empty harness.

    Returns:
        `tools`, `policy` (empty, to be written by hand) and `observed_calls`, sorted by name.
    """
    observed: dict[str, _Tool] = {}
    for row in rows_of(rows):
        _observe_row(row, observed)
    tools: dict[str, _Tool] = {}
    for name, tool in observed.items():
        trimmed = name.strip()
        if trimmed:
            tools[trimmed] = tools[trimmed].joined(tool) if trimmed in tools else tool
    return {
        "tools": [tools[name].schema(name) for name in sorted(tools)],
        "policy": "",
        "observed_calls": {name: tools[name].calls for name in sorted(tools)},
    }


def _observe_row(row: Row, observed: dict[str, _Tool]) -> None:
    steps = row.get("steps")
    if type(steps) is not list:
        return
    for step in steps:
        if isinstance(step, dict) and (name := step.get("tool")):
            if type(name) is not str:
                name = plain_text(name)
            arguments = step.get("arguments")
            if type(arguments) is not dict:
                arguments = arguments_of(step)
            tool = observed.get(name)
            if tool is None:
                tool = observed[name] = _Tool()
            tool.see(arguments)


class _Tool:
    """What the calls of one tool looked like."""

    __slots__ = ("forms", "inner")

    def __init__(self) -> None:
        self.forms: dict[_Form, int] = {}
        self.inner: dict[str, _Inner] = {}

    def see(self, arguments: dict[str, Any]) -> None:
        form = (tuple(arguments), tuple(map(type, arguments.values())))
        forms = self.forms
        forms[form] = forms.get(form, 0) + 1
        if list in form[1] or dict in form[1]:
            for name, value in arguments.items():
                if type(value) is list or type(value) is dict:
                    self.inner.setdefault(name, _Inner()).see(value, _DEEPEST)

    def joined(self, other: _Tool) -> _Tool:
        for form, count in other.forms.items():
            self.forms[form] = self.forms.get(form, 0) + count
        for name, inner in other.inner.items():
            self.inner.setdefault(name, _Inner()).join(inner)
        return self

    @property
    def calls(self) -> int:
        return sum(self.forms.values())

    def schema(self, name: str) -> dict[str, Any]:
        types: dict[str, set[str]] = {}
        present: dict[str, int] = {}
        for (names, kinds), count in self.forms.items():
            for argument, kind in zip(names, kinds, strict=True):
                types.setdefault(argument, set()).update(_json_types(kind))
                present[argument] = present.get(argument, 0) + count
        calls = self.calls
        return {
            "type": "function",
            "function": {
                "name": name,
                "parameters": {
                    "type": "object",
                    "properties": {
                        argument: _with_inner(_one_type(types[argument]), self.inner.get(argument))
                        for argument in sorted(types)
                    },
                    "required": sorted(name for name, n in present.items() if n == calls),
                },
            },
        }


class _Inner:
    """What was seen inside the arrays and objects of one argument."""

    __slots__ = ("items", "properties", "types")

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.items: _Inner | None = None
        self.properties: dict[str, _Inner] = {}

    def see(self, value: Any, depth: int) -> None:
        self.types |= _json_types(type(value))
        if depth == 0:
            return
        if type(value) is list:
            if self.items is None:
                self.items = _Inner()
            for item in value:
                self.items.see(item, depth - 1)
        elif type(value) is dict:
            for name, item in value.items():
                self.properties.setdefault(name, _Inner()).see(item, depth - 1)

    def join(self, other: _Inner) -> None:
        self.types |= other.types
        if other.items is not None:
            if self.items is None:
                self.items = _Inner()
            self.items.join(other.items)
        for name, inner in other.properties.items():
            self.properties.setdefault(name, _Inner()).join(inner)

    def schema(self) -> dict[str, Any]:
        return _with_inner(_one_type(self.types), self)


def _with_inner(kind: str, inner: _Inner | None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": kind}
    if inner is None:
        return schema
    if kind == "array" and inner.items is not None and inner.items.types:
        schema["items"] = inner.items.schema()
    if kind == "object" and inner.properties:
        schema["properties"] = {
            name: inner.properties[name].schema() for name in sorted(inner.properties)
        }
    return schema


def _json_types(kind: type) -> set[str]:
    """Return the JSON type of values of a Python type; null tells none."""
    if kind is type(None):
        return set()
    if issubclass(kind, bool):
        return {"boolean"}
    if issubclass(kind, int | float):
        return {"number"}
    if issubclass(kind, list):
        return {"array"}
    return {"object"} if issubclass(kind, dict) else {"string"}


def _one_type(types: set[str]) -> str:
    return next(iter(types)) if len(types) == 1 else "string"


def _observed_tool(name: str, arguments: set[str]) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": f"{name}, observed in this agent's traces",
            "parameters": {
                "type": "object",
                "properties": {argument: {"type": "string"} for argument in sorted(arguments)},
            },
        },
    }
