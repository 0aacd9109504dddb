"""Prompts without a model: sentences put together per situation, new words for every variant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from whileai_core.simulation import words
from whileai_core.simulation.cards import Card
from whileai_core.simulation.chance import number, pick
from whileai_core.simulation.mint import reference_parameter
from whileai_core.simulation.verbs import Verb, is_verb, verb_of, words_of_name, words_of_text
from whileai_core.traces.dimensions import SPECIAL_TOOLS, UNSPECIFIED, names_a_reference

UNRELATED, MULTI_TOOL = SPECIAL_TOOLS
_PREPOSITIONS = frozenset({"to", "for", "with", "by", "from", "in", "on", "of", "at", "via"})
_MOST_DETAILS = 3
_REWORDINGS = 6

# Orders in which the sentences of a message may stand.
_LAYOUTS = (
    ("opener", "details", "rule", "state", "condition", "history", "stance"),
    ("history", "opener", "details", "state", "rule", "condition", "stance"),
    ("opener", "details", "history", "condition", "state", "rule", "stance"),
    ("stance", "opener", "details", "state", "history", "rule", "condition"),
    ("condition", "history", "opener", "details", "rule", "stance", "state"),
    ("opener", "details", "stance", "state", "condition", "rule", "history"),
)


class TemplateWriter:
    """Writes prompts from sentence pools; the same card and variant always read the same.

    Args:
        tools: Schemas of the agent's tools.
        seed: Seed of the run.
    """

    name = "template"

    def __init__(self, tools: Sequence[Mapping[str, Any]], seed: int) -> None:
        self._tools = {tool["name"]: tool for tool in tools}
        self._name_words = {name: frozenset(words_of_name(name)) for name in self._tools}
        self._seed = seed

    async def write(self, cards: Sequence[Card], variant: int) -> list[str | None]:
        """Return one message per card."""
        return [self.message(card, variant) for card in cards]

    def message(self, card: Card, variant: int) -> str:
        """Return the message of a card; one that names a tool it is not about is put anew."""
        asked = asked_tools(card.assignment, list(self._tools.values()))
        allowed = {tool["name"] for tool in asked}
        salt = (self._seed, card.id, card.slot, variant)
        text = self._assembled(card, asked, *salt)
        for reword in range(_REWORDINGS):
            if not self._names_another(text, allowed):
                break
            text = self._assembled(card, asked, *salt, reword)
        return text

    def _assembled(self, card: Card, asked: Sequence[Mapping[str, Any]], *salt: object) -> str:
        assignment = card.assignment
        parts = {
            "opener": self._opener(card, asked, *salt),
            "stance": _sentence(words.STANCES, assignment.get("stance"), *salt, "stance"),
            "history": _sentence(words.HISTORIES, assignment.get("history"), *salt, "history"),
        }
        if asked or not self._tools:
            parts["rule"] = _rule(assignment.get("rule"), *salt)
        if asked:
            state, condition = assignment.get("world_state"), assignment.get("tool_condition")
            parts["state"] = _sentence(words.WORLD_STATES, state, *salt, "state")
            parts["condition"] = _sentence(words.CONDITIONS, condition, *salt, "condition")
            parts["details"] = _details(asked, *salt)
        layout = pick(_LAYOUTS, *salt, "layout")
        return " ".join(sentence for name in layout if (sentence := parts.get(name, "")))

    def _opener(self, card: Card, asked: Sequence[Mapping[str, Any]], *salt: object) -> str:
        if not asked:
            return pick(words.UNRELATED, *salt, "opener").format(
                thing=pick(words.THINGS, *salt, "thing"),
                occasion=pick(words.OCCASIONS, *salt, "occasion"),
            )
        references = list(card.references)
        acts = []
        for place, tool in enumerate(asked):
            takes_one = reference_parameter(tool) is not None and bool(references)
            acts.append(_act(tool, references.pop(0) if takes_one else None, *salt, place))
        if len(acts) == 1:
            return pick(words.OPENERS, *salt, "opener").format(act=acts[0])
        return pick(words.DOUBLE_OPENERS, *salt, "opener").format(one=acts[0], two=acts[1])

    def _names_another(self, text: str, allowed: Iterable[str]) -> bool:
        """Tell whether a message holds all the words of a tool it is not about."""
        spoken = set(words_of_text(text))
        wanted = {word for name in allowed for word in self._name_words[name]}
        return any(
            needed <= spoken
            for name, needed in self._name_words.items()
            if name not in allowed and needed and not needed <= wanted
        )


def asked_tools(
    assignment: Mapping[str, str], tools: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return the tools a situation is about: none, one, or two.

    Which two depends on manner and world, so that situations that share those are about the same.
    """
    tool = assignment.get("tool")
    if tool == UNRELATED or not tools:
        return []
    if tool == MULTI_TOOL:
        salt = [assignment.get(axis) for axis in ("stance", "world_state", "tool_condition")]
        first = number(*salt, "first") % len(tools)
        second = (first + 1 + number(*salt, "second") % max(1, len(tools) - 1)) % len(tools)
        return [tools[first], tools[second]]
    return [schema for schema in tools if schema["name"] == tool][:1]


def _sentence(pools: Mapping[str, Sequence[str]], value: str | None, *salt: object) -> str:
    pool = pools.get(value or "")
    return pick(pool, *salt) if pool else ""


def _rule(rule: str | None, *salt: object) -> str:
    if rule is None or rule == UNSPECIFIED:
        return ""
    return pick(words.RULES, *salt, "rule").replace("{rule}", rule.rstrip("."))


def _act(tool: Mapping[str, Any], reference: str | None, *salt: object) -> str:
    """Return what a tool does as an act: "cancel the order", with its reference if it takes one."""
    name_words = list(words_of_name(tool["name"])) or [str(tool["name"])]
    verb, rest = name_words[0], name_words[1:]
    if verb == "lookup":
        verb = "do a lookup of"
    if not rest:
        act = verb if is_verb(verb) else f"get help with {verb}"
        if reference is None and is_verb(verb):
            act += " something"
    elif rest[0] in _PREPOSITIONS:
        act = " ".join([verb, rest[0], *_with_article("a", rest[1:])])
    else:
        article = "a" if verb_of(tool["name"]) is Verb.CREATE else "the"
        act = " ".join([verb, *_with_article(article, rest)])
    if reference is None:
        return act
    created = verb_of(tool["name"]) is Verb.CREATE
    forms = words.REFERENCES_OF_NEW if created else words.REFERENCES
    return act + pick(forms, *salt, "reference").format(ref=reference)


def _with_article(article: str, noun: Sequence[str]) -> list[str]:
    if not noun or (article == "a" and noun[-1].endswith("s") and not noun[-1].endswith("ss")):
        return list(noun)
    if article == "a" and noun[0][0] in "aeiou":
        article = "an"
    return [article, *noun]


def _details(asked: Sequence[Mapping[str, Any]], *salt: object) -> str:
    """Return the other required arguments with values, where their names say what they are."""
    told: dict[str, str] = {}
    for tool in asked:
        parameters = tool["parameters"]
        for name in parameters.get("required") or ():
            if not names_a_reference(str(name)):
                told |= _detail(str(name), *salt)
    if not told:
        return ""
    listed = ", ".join(f"{label} {value}" for label, value in list(told.items())[:_MOST_DETAILS])
    return pick(words.DETAILS, *salt, "details").format(details=listed)


def _detail(name: str, *salt: object) -> dict[str, str]:
    for word in reversed(words_of_name(name)):
        if word in words.VALUES:
            return {" ".join(words_of_name(name)): pick(words.VALUES[word], *salt, name)}
    return {}
