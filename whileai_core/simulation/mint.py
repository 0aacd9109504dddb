"""References for prompts: ids the tools' descriptions name, else ids made up in their manner."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whileai_core.simulation.chance import number
from whileai_core.simulation.records import person
from whileai_core.simulation.verbs import Verb, verb_of, words_of_name
from whileai_core.traces.dimensions import names_a_reference

# Letters and three to six digits, or the other way round.
_ID = re.compile(r"\b(?:[A-Z]{1,8}[-_]?\d{3,6}|\d{3,6}[-_]?[A-Z]{1,4})\b")
_PREFIX_LETTERS = 3
_PATHS = frozenset({"path", "file"})


class Mint:
    """Makes up the references that prompts name.

    Args:
        tools: Schemas of the agent's tools.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        self._described = {tool["name"]: ids_in(_texts_of(tool)) for tool in tools}
        every = [found for ids in self._described.values() for found in ids]
        self.described: tuple[str, ...] = tuple(dict.fromkeys(every))
        reading = [tool for tool in tools if verb_of(tool["name"]) is Verb.READ]
        self._noun = _noun(reading[0]["name"]) if reading else "record"

    def reference(self, tool: Mapping[str, Any], turn: int, *salt: object) -> str | None:
        """Return a reference for a tool, None when it takes none.

        Args:
            tool: Schema of the tool.
            turn: Which of the described ids is next; beyond them ids are made up.
            salt: What a made-up id depends on.
        """
        parameter = reference_parameter(tool)
        if parameter is None:
            return None
        described = self._described.get(tool["name"])
        if described:
            return described[turn % len(described)]
        drawn = number(*salt, turn, "reference")
        words = words_of_name(parameter)
        if _PATHS.intersection(words):
            return f"notes/{self._noun}_{drawn % 9000 + 1000}.txt"
        if words == ("name",):
            return person(*salt, turn)
        if _type_of(tool, parameter) in ("integer", "number"):
            return str(drawn % 900_000 + 100_000)
        stem = words[0] if len(words) > 1 else _noun(tool["name"]) or self._noun
        return f"{stem[:_PREFIX_LETTERS].upper()}-{drawn % 9000 + 1000}"


def ids_in(texts: Iterable[str]) -> list[str]:
    """Return the ids that texts name, in order, each once."""
    return list(dict.fromkeys(found for text in texts for found in _ID.findall(text)))


def reference_parameter(tool: Mapping[str, Any]) -> str | None:
    """Return the parameter by which a tool takes a reference; a required one comes first."""
    parameters = tool["parameters"]
    properties = parameters.get("properties")
    if not isinstance(properties, dict):
        return None
    required = parameters.get("required") or ()
    named = [name for name in map(str, properties) if names_a_reference(name)]
    return next((name for name in named if name in required), named[0] if named else None)


def _texts_of(tool: Mapping[str, Any]) -> Iterable[str]:
    yield str(tool.get("description") or "")
    properties = tool["parameters"].get("properties")
    for schema in properties.values() if isinstance(properties, dict) else ():
        if isinstance(schema, dict):
            yield str(schema.get("description") or "")
            yield from (str(value) for value in schema.get("enum") or ())
            yield from (str(value) for value in schema.get("examples") or ())


def _type_of(tool: Mapping[str, Any], parameter: str) -> str | None:
    schema = tool["parameters"]["properties"].get(parameter)
    kind = schema.get("type") if isinstance(schema, dict) else None
    return kind if isinstance(kind, str) else None


def _noun(name: str) -> str:
    words = words_of_name(name)
    return words[-1] if len(words) > 1 else ""
