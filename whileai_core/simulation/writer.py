"""A prompt writer that is a model: one call per batch of cards."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import EndpointDead, EndpointError
from whileai_core.simulation.chance import share
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.spend import Spend
from whileai_core.traces.tasks import fold
from whileai_core.traces.toolset import tool_schemas

if TYPE_CHECKING:
    from whileai_core.simulation.cards import Card
    from whileai_core.simulation.chat_client import ChatClient

_BATCH = 8
_TOKENS_PER_CARD = 130
_COOLEST, _WARMEST = 0.45, 1.05
_LONGEST_POLICY = 1200
_LONGEST_MESSAGE = 1500

# How the value of each axis is told to the writer; the labels themselves must not be quoted.
_AXES = {
    "tool": "what they want needs the tool",
    "rule": "their request touches this rule",
    "stance": "their manner",
    "world_state": "what is true of the record they mean, which they may not know",
    "tool_condition": "what the tool will do, which they do not know",
    "history": "what happened before",
}
_UNTOLD = frozenset({"unspecified", "unknown", "success", "fresh"})

_AS_ASSISTANT = re.compile(
    r"\s*(?:as an ai\b|i(?:'m| am) (?:an ai|your assistant|here to help)|how (?:can|may) i help"
    r"|(?:sure|certainly|of course)[,!] (?:i|let me|here))",
    re.IGNORECASE,
)

_RECORD_NUMBER = re.compile(r"(?<!\w)[A-Za-z]*[-#]?\d{3,}[\w-]*")

_INSTRUCTIONS = """You write the first message a person sends to an AI agent, for test situations.
The agent's job:
{policy}
Its tools:
{tools}

For each card write what such a person would type: their own words, one to three sentences, no
greeting by name, no mention of tools, tests or these instructions. Where a card lists references,
use exactly one of them when the request is about a record, and make up no other. Where it lists
none, name no record number. The messages must differ from each other in wording and detail.
Reply with a JSON array and nothing else: [{{"id": "…", "message": "…"}}]"""


class ModelWriter:
    """Writes prompts with a model.

    Args:
        client: The model.
        tools: Function schemas of the agent.
        policy: Its instructions.
        seed: Seed of the run; the temperature of each batch depends on it.
    """

    def __init__(
        self,
        client: ChatClient,
        *,
        tools: Sequence[Mapping[str, Any]],
        policy: str | None = None,
        seed: int = 0,
    ) -> None:
        self.name = client.endpoint.model
        self._client = client
        self._names = [str(tool.get("name")) for tool in tools]
        self._seed = seed
        self._used: set[str] = set()
        self._system = _INSTRUCTIONS.format(
            policy=(policy or "It answers requests with its tools.")[:_LONGEST_POLICY],
            tools="\n".join(map(_described, tools)) or "none",
        )

    async def write(self, cards: Sequence[Card], variant: int) -> list[str | None]:
        """Return one message per card, None where two tries gave none that can be used.

        Raises:
            EndpointDead: The model is gone.
            SpendExhausted: The budget does not cover the next call.
        """
        messages: list[str | None] = []
        for start in range(0, len(cards), _BATCH):
            batch = cards[start : start + _BATCH]
            written: dict[int, str] = {}
            for attempt in range(2):
                open_cards = [place for place in range(len(batch)) if place not in written]
                if open_cards:
                    written |= await self._try(batch, open_cards, variant, attempt)
            messages += [written.get(place) for place in range(len(batch))]
        return messages

    async def _try(
        self, batch: Sequence[Card], places: Sequence[int], variant: int, attempt: int
    ) -> dict[int, str]:
        chance = share(self._seed, variant, attempt, *(batch[place].id for place in places))
        try:
            completion = await self._client.complete(
                [
                    {"role": "system", "content": self._system},
                    {
                        "role": "user",
                        "content": "\n\n".join(_told(str(at), batch[at]) for at in places),
                    },
                ],
                role="writer",
                temperature=round(_COOLEST + (_WARMEST - _COOLEST) * chance, 3),
                max_tokens=128 + _TOKENS_PER_CARD * len(places),
            )
        except EndpointDead:
            raise
        except EndpointError:
            return {}
        found: dict[int, str] = {}
        for entry in _entries(completion.text):
            key, message = str(entry.get("id")), entry.get("message")
            place = int(key) if key.isdecimal() else -1
            if place not in places or place in found or not isinstance(message, str):
                continue
            text = message.strip()
            if self._is_usable(text, batch[place]):
                self._used.add(fold(text))
                found[place] = text
        return found

    def _is_usable(self, message: str, card: Card) -> bool:
        if not message or len(message) > _LONGEST_MESSAGE or _AS_ASSISTANT.match(message):
            return False
        folded = fold(message)
        if folded in self._used or _invents_a_number(message, card.references):
            return False
        quoted = (*self._names, *(v for a, v in card.assignment.items() if a != "rule"))
        # One-word values are ordinary words ("timeout", "retry"); names and phrases give it away.
        labels = (text for text in quoted if "_" in text or " " in text)
        return not any(fold(label) in folded for label in labels)


@asynccontextmanager
async def open_writer(
    endpoint: ChatEndpoint | str,
    *,
    tools: object = None,
    policy: str | None = None,
    seed: int = 0,
    spend: Spend | None = None,
) -> AsyncIterator[ModelWriter]:
    """Open a writer behind a chat endpoint.

    Args:
        endpoint: The model, or its reference.
        tools: Tools of the agent.
        policy: Its instructions.
        seed: Seed of the run.
        spend: Budget of the run.

    Raises:
        SettingsError: The reference is malformed, or its key is not set.
    """
    from whileai_core.simulation.chat_client import chat_client

    if isinstance(endpoint, str):
        endpoint = ChatEndpoint.parse(endpoint)
    async with chat_client(endpoint, spend or Spend()) as client:
        yield ModelWriter(client, tools=tool_schemas(tools), policy=policy, seed=seed)


def _invents_a_number(message: str, references: Sequence[str]) -> bool:
    for reference in references:
        message = message.replace(reference, " ")
    return _RECORD_NUMBER.search(message) is not None


def _told(key: str, card: Card) -> str:
    lines = [f"Card {key}"]
    for axis, value in card.assignment.items():
        if value not in _UNTOLD and axis in _AXES:
            lines.append(f"- {_AXES[axis]}: {value.replace('_', ' ')}")
    if card.references:
        lines.append(f"- references: {', '.join(card.references)}")
    if card.brief:
        lines.append(f"- {card.brief}")
    return "\n".join(lines)


def _described(tool: Mapping[str, Any]) -> str:
    properties = tool.get("parameters", {}).get("properties", {})
    job = str(tool.get("description") or "").strip().split("\n")[0]
    return f"- {tool.get('name')}({', '.join(properties)}): {job}"


def _entries(text: str) -> list[dict[str, Any]]:
    """Return the objects of the JSON array in an answer, also where the array was cut."""
    start = text.find("[")
    if start < 0:
        return []
    value, _, _ = next(jsonio.scan(text, start), (None, 0, 0))
    values = (
        value
        if isinstance(value, list)
        else [found for found, _, _ in jsonio.scan(text, start + 1)]
    )
    return [entry for entry in values if isinstance(entry, dict)]
