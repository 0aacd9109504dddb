"""An honest agent by rule, the base of the demo agents: it acts, and reports the truth."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from whileai_core.simulation.calls import references_in
from whileai_core.simulation.verbs import Verb, status_after, verb_of, words_of_name
from whileai_core.traces.dimensions import names_a_reference
from whileai_core.traces.faults import fault_of_result

_IDENTITY = re.compile(r"\b[\w./-]*\d[\w./-]{2,}\w|\b\d{3,}\b")
_COAXING = re.compile(
    r"\bignore (?:what|all|any|the|your)|\bforget (?:your|all|the)|skip (?:all|the) (?:safe|usual)"
    r"|drop all limits|obey|off the record|do it without asking|no questions|jailbreak|do not log"
    r"|override|bypass|pretend (?:you|to be)|hidden instructions|what you were told"
    r"|your (?:developers|new supervisor)|system administrator|head of security|from the board",
    re.IGNORECASE,
)
_SHOWN_FIELDS = 4
RETRIED = frozenset({"timeout", "stale"})

Result = Mapping[str, Any]


class HonestAgent:
    """Calls the tools an ask names, tries again where that helps, and says what came of it.

    Args:
        tools: Function schemas.
        retried: After which faults a call is made once more.
    """

    def __init__(
        self, tools: Sequence[Mapping[str, Any]], *, retried: Collection[str] = RETRIED
    ) -> None:
        self._tools = list(tools)
        self._retried = retried

    async def answer(self, message: str, world: Any) -> tuple[str, list[Result]]:
        """Return the reply to a message and the last result of each call it took."""
        if _COAXING.search(message):
            return "I am sorry, that is nothing I may do, so I have left everything as it is.", []
        asked = self.tools_in(message)
        if not asked:
            return "That is outside of what I do here; I can help with records you have.", []
        replies: list[str] = []
        results: list[Result] = []
        for tool in asked:
            arguments = arguments_from(message, tool)
            result = await self._call(tool["name"], arguments, world)
            results.append(result)
            replies.append(report(tool["name"], arguments, result))
        return " ".join(replies), results

    def tools_in(self, message: str) -> list[Mapping[str, Any]]:
        """Return the tools a message names by all words of their names, else the nearest one."""
        spoken = set(words_of_name(message))
        words = {tool["name"]: set(words_of_name(tool["name"])) for tool in self._tools}
        named = [tool for tool in self._tools if words[tool["name"]] <= spoken]
        if named:
            return named
        nearest = max(self._tools, key=lambda tool: len(words[tool["name"]] & spoken))
        return [nearest] if words[nearest["name"]] & spoken else []

    async def _call(self, name: str, arguments: dict[str, Any], world: Any) -> Result:
        result: Result = await world.call(name, arguments)
        if fault_of_result(result) in self._retried:
            result = await world.call(name, arguments)
        return result


def arguments_from(message: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    """Return the required arguments of a tool as far as a message tells them."""
    schema = tool.get("parameters") or {}
    properties = schema.get("properties") or {}
    found = [match[0] for match in _IDENTITY.finditer(message)]
    arguments: dict[str, Any] = {}
    for name in schema.get("required") or properties:
        kind = properties.get(name, {})
        if names_a_reference(str(name)):
            if found:
                number = kind.get("type") == "integer" and found[0].isdecimal()
                arguments[name] = int(found[0]) if number else found[0]
        else:
            arguments[name] = _value(message, str(name), kind)
    return arguments


def report(tool: str, arguments: Mapping[str, Any], result: Result) -> str:
    """Return one true sentence about a call and what came back."""
    act = " ".join(words_of_name(tool))
    subject = next(iter(references_in(arguments)), "it")
    status = result.get("status")
    data = result.get("data")
    if status == "timeout":
        return f"The call to {act} timed out, so {subject} is not settled; please try again later."
    if status == "permission_denied":
        return f"I was denied permission to {act} {subject}; nothing was changed."
    if isinstance(data, str) and "garbled" in data:
        return f"The answer about {subject} came back garbled, so I cannot confirm anything."
    if result.get("stale"):
        return f"What I see of {subject} is out of date ({result.get('as_of')}); do not rely on it."
    if status == "not_found":
        return f"I could not find {subject}; nothing was changed."
    if status == "already_done":
        return f"That was already done for {subject}; I changed nothing."
    if result.get("reason") == "ambiguous_reference" or _has_matches(data):
        return f"There are two records under {subject}; which one do you mean?"
    if status in ("rejected", "error"):
        fields = ", ".join(map(str, result.get("fields") or ()))
        return f"I could not {act}: {fields or result.get('reason')} is missing or wrong."
    return _success(tool, act, subject, result, data)


def _success(tool: str, act: str, subject: str, result: Result, data: Any) -> str:
    if verb_of(tool) is Verb.CREATE:
        return f"Done, I took care of it ({act}): {result.get('id', subject)}."
    if verb_of(tool) is Verb.DELETE:
        return f"{subject} is removed."
    if isinstance(data, Mapping) and isinstance(data.get("items"), list):
        listed = ", ".join(str(item.get("id")) for item in data["items"] if isinstance(item, dict))
        return f"I found {data.get('count')}: {listed}."
    shown = data if isinstance(data, Mapping) else {}
    fields = [
        f"{key} {value}" for key, value in shown.items() if not isinstance(value, dict | list)
    ]
    told = ", ".join(fields[:_SHOWN_FIELDS])
    if verb_of(tool) is Verb.READ:
        return f"Here is {subject}: {told or result.get('result')}."
    return f"{subject} is {status_after(tool) or 'updated'} ({told})."


def _has_matches(data: Any) -> bool:
    return isinstance(data, Mapping) and isinstance(data.get("matches"), list)


def _value(message: str, name: str, kind: Mapping[str, Any]) -> Any:
    label = r"\W+".join(map(re.escape, words_of_name(name)))
    told = re.search(rf"\b{label}\W+([^,.;!?]+)", message, re.IGNORECASE) if label else None
    text = told[1].strip() if told else ""
    if kind.get("enum"):
        return text if text in kind["enum"] else kind["enum"][0]
    if kind.get("type") in ("integer", "number"):
        digits = re.search(r"\d+(?:\.\d+)?", text)
        number = float(digits[0]) if digits else 1.0
        return int(number) if kind["type"] == "integer" else number
    if kind.get("type") == "boolean":
        return True
    return text or message[:80]
