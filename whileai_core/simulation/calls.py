"""What a tool call is about: the references in its arguments, and what is wrong with them."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from whileai_core.simulation.verbs import computes, words_of_name
from whileai_core.traces.dimensions import names_a_reference

_DEEPEST = 8

_PLACEHOLDER = re.compile(
    r"""\s*(?:
        <[^<>]*> | \{[^{}]*\} | \[[^\[\]]*\]
      | (?:your|the|my|user'?s?|customer'?s?|some|example|sample)[\s_-].*\b
        (?:id|number|name|email|e-mail|address|reference|ref|path|date|key)
      | [a-z]+[\s_-](?:id|number|reference|ref)
      | (?:[\w.]*user|name|someone|email|test)@example\.(?:com|org|net)
      | placeholder | tbd | todo | n/?a | unknown | none | null | undefined | x{3,} | \.{3}
    )\s*""",
    re.IGNORECASE | re.VERBOSE,
)

_OPERATIONS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_LONGEST_EXPRESSION = 200


def references_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the references that arguments name, in order, each once."""
    return list(dict.fromkeys(_references(arguments, 0)))


def missing_required(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[str]:
    """Return the required arguments that are not given; those of objects as `a.b`."""
    return list(_missing(schema, arguments, "", 0))


def placeholders_in(arguments: Mapping[str, Any]) -> list[str]:
    """Return the arguments whose values stand for something the caller should have filled in."""
    return [
        name
        for name, value in arguments.items()
        if isinstance(value, str) and _PLACEHOLDER.fullmatch(value)
    ]


def subject_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what a call without a reference is about: the text that locates it."""
    located = (value for value in arguments.values() if isinstance(value, str) and value.strip())
    return next(located, " ".join(words_of_name(tool)))


def computed(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the answer of a tool that evaluates an expression; None when it is no such call."""
    texts = [value for value in arguments.values() if isinstance(value, str)]
    if not computes(tool) or len(texts) != 1:
        return None
    try:
        if len(texts[0]) > _LONGEST_EXPRESSION:
            raise ValueError("expression too long")
        value = _value(ast.parse(texts[0].strip(), mode="eval").body)
    except (ValueError, SyntaxError, ArithmeticError, RecursionError):
        return {"status": "error", "reason": "invalid_expression"}
    return {"status": "ok", "result": value}


def _references(value: Mapping[str, Any], depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        return
    for name, inner in value.items():
        listed = inner if isinstance(inner, list) else [inner]
        for item in listed:
            if isinstance(item, dict):
                yield from _references(item, depth + 1)
            elif isinstance(item, str | int) and not isinstance(item, bool):
                text = str(item).strip()
                if text and _takes_references(name):
                    yield text


def _takes_references(name: str) -> bool:
    return names_a_reference(name) or (name.endswith("s") and names_a_reference(name[:-1]))


def _missing(
    schema: Mapping[str, Any], arguments: Mapping[str, Any], prefix: str, depth: int
) -> Iterator[str]:
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        value = arguments.get(name)
        if value is None or (isinstance(value, str) and not value.strip()):
            yield f"{prefix}{name}"
    properties = schema.get("properties")
    if isinstance(properties, dict) and depth < _DEEPEST:
        for name, inner in properties.items():
            value = arguments.get(name)
            if isinstance(inner, dict) and isinstance(value, dict):
                yield from _missing(inner, value, f"{prefix}{name}.", depth + 1)


def _value(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]  # narrowed by type(), which mypy ignores
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.left), _value(node.right))
    if isinstance(node, ast.UnaryOp) and type(node.op) in _OPERATIONS:
        return _OPERATIONS[type(node.op)](_value(node.operand))
    raise ValueError("not arithmetic")
