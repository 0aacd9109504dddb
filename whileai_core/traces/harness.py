"""The tool surface as traces show it: names, argument names, drafted schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.traces.calls import arguments_of
from whileai_core.traces.intake import rows_of
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.rows import Row

_DEEPEST = 8
_CONTAINERS = frozenset({list, dict})
# JSON types of Python types; null tells none.
_JSON_TYPES: dict[type, frozenset[str]] = {
    type(None): frozenset(),
    bool: frozenset({"boolean"}),
    int: frozenset({"number"}),
    float: frozenset({"number"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    object: frozenset({"string"}),
    str: frozenset({"string"}),
}

# The argument names of one call and, behind them, as many value types. Calls of one tool repeat
# a few of these forms, so that little is left to do per call.
_Form = tuple[Any, ...]


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
            form = (*arguments, *map(type, arguments.values()))
            seen = tool.forms.get(form)
            if seen is None:
                seen = tool.forms[form] = _Seen(form)
            seen.calls += 1
            if seen.nested:
                tool.look_inside(arguments, seen.nested)


class _Tool:
    """What the calls of one tool looked like."""

    __slots__ = ("forms", "inner")

    def __init__(self) -> None:
        self.forms: dict[_Form, _Seen] = {}
        self.inner: dict[str, _Inner] = {}

    def look_inside(self, arguments: dict[str, Any], names: tuple[str, ...]) -> None:
        for name in names:
            self.inner.setdefault(name, _Inner()).see(arguments[name], _DEEPEST)

    def joined(self, other: _Tool) -> _Tool:
        for form, seen in other.forms.items():
            self.forms.setdefault(form, _Seen(form)).calls += seen.calls
        for name, inner in other.inner.items():
            self.inner.setdefault(name, _Inner()).join(inner)
        return self

    @property
    def calls(self) -> int:
        return sum(seen.calls for seen in self.forms.values())

    def schema(self, name: str) -> dict[str, Any]:
        types: dict[str, set[str]] = {}
        present: dict[str, int] = {}
        for form, seen in self.forms.items():
            for argument, kind in _named_types(form):
                types.setdefault(argument, set()).update(_json_types(kind))
                present[argument] = present.get(argument, 0) + seen.calls
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


class _Seen:
    """How often one form was seen, and which of its arguments hold arrays or objects."""

    __slots__ = ("calls", "nested")

    def __init__(self, form: _Form) -> None:
        self.calls = 0
        self.nested = tuple(name for name, kind in _named_types(form) if kind in _CONTAINERS)


def _named_types(form: _Form) -> Iterator[tuple[str, type]]:
    half = len(form) // 2
    return zip(form[:half], form[half:], strict=True)


class _Inner:
    """What was seen inside the arrays and objects of one argument."""

    __slots__ = ("items", "properties", "types")

    def __init__(self) -> None:
        self.types: set[str] = set()
        self.items: _Inner | None = None
        self.properties: dict[str, _Inner] = {}

    def see(self, value: Any, depth: int) -> None:
        """Look at one array or object; below the depth limit only its type counts."""
        self.types |= _json_types(type(value))
        if depth == 0:
            return
        if type(value) is list:
            if self.items is None:
                self.items = _Inner()
            self.items.see_each(value, depth - 1)
        else:
            for name, item in value.items():
                self.properties.setdefault(name, _Inner()).see_each((item,), depth - 1)

    def see_each(self, values: Sequence[Any], depth: int) -> None:
        kinds = set(map(type, values))
        for kind in kinds:
            self.types |= _json_types(kind)
        if not kinds.isdisjoint(_CONTAINERS):
            for value in values:
                if type(value) in _CONTAINERS:
                    self.see(value, depth)

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


def _json_types(kind: type) -> frozenset[str]:
    known = _JSON_TYPES.get(kind)
    if known is None:
        known = next(_JSON_TYPES[base] for base in kind.__mro__ if base in _JSON_TYPES)
    return known


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
