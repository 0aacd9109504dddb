"""Calls written as Python: `[get_weather(city="Oslo"), lookup(order=3)]`.

Tool names may hold blanks, which Python's may not, so names are read here and only the arguments
are left to Python's grammar.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from whileai_core.dialects.events import Call

_NAME = re.compile(r"\s*([A-Za-z_][\w .\-/]*?)\(")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_LONGEST = 20_000
_JSON_WORDS = {"true": True, "false": False, "null": None}


def calls_in(text: str) -> list[Call]:
    """Return the calls a whole text spells, or none when it is anything else."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith(")]")) or len(body) > _LONGEST:
        return []
    calls: list[Call] = []
    place = 1
    while place < len(body) - 1:
        name = _NAME.match(body, place)
        end = _closing(body, name.end()) if name else None
        arguments = _arguments(body[name.end() : end]) if name and end else None
        if name is None or end is None or arguments is None:
            return []
        calls.append(Call(name[1].strip(), arguments))
        place = end + 1
        rest = body[place:].lstrip()
        if rest[:1] not in (",", "]"):
            return []
        place = len(body) - len(rest) + 1
    return calls


def _closing(text: str, place: int) -> int | None:
    """Return where the bracket closes that was opened before this place."""
    depth = 1
    while place < len(text):
        quoted = _QUOTED.match(text, place)
        if quoted is not None:
            place = quoted.end()
            continue
        depth += (text[place] in "([{") - (text[place] in ")]}")
        if depth == 0:
            return place
        place += 1
    return None


def _arguments(text: str) -> dict[str, Any] | None:
    """Return keyword arguments whose values are plain; None when there are others."""
    try:
        call = _JsonWords().visit(ast.parse(f"f({text.strip()})", mode="eval")).body
        if not isinstance(call, ast.Call) or call.args:
            return None
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


class _JsonWords(ast.NodeTransformer):
    """Lets JSON's words stand for Python's."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(_JSON_WORDS[node.id]) if node.id in _JSON_WORDS else node
