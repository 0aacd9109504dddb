"""Messages whose content is a list of blocks, whichever producer's blocks they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Event, Instruct, Result, Say
from whileai_core.dialects.messages import (
    ai_sdk,
    anthropic,
    bedrock,
    gemini,
    genai_parts,
    goose,
    haystack,
    llama_index,
    microsoft,
    responses,
)
from whileai_core.dialects.messages.values import block_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from whileai_core.dialects.messages.roles import Role

_READERS: tuple[Callable[[dict[str, Any]], list[Event] | None], ...] = (
    anthropic.block_events,
    genai_parts.block_events,
    responses.item_events,
    ai_sdk.block_events,
    gemini.block_events,
    goose.block_events,
    bedrock.block_events,
    haystack.block_events,
    llama_index.block_events,
    microsoft.block_events,
)


def role_events(role: Role, blocks: Sequence[object], joiner: str) -> list[Event]:
    """Return what a message with this role and these blocks says, in source order.

    Neighbouring texts make one turn. A user's results come before the user's text, and a user
    message that is neither is an empty ask.
    """
    events: list[Event] = []
    texts: list[str] = []
    for block in blocks:
        found = _tool_events(block)
        if found is None:
            text = block_text(block)
            if text:
                texts.append(text)
            continue
        if texts and role == "assistant":
            events.append(Say(joiner.join(texts)))
            texts = []
        events += found
    text = joiner.join(texts)
    if role == "assistant":
        if text:
            events.append(Say(text))
    elif role == "user":
        if text or not events:
            events.append(Ask(text))
    elif role == "system" and text:
        events.append(Instruct(text))
    return events


def tool_results(blocks: Sequence[object]) -> list[Result]:
    """Return the results among the blocks of a tool message; none when they are its plain text."""
    found: list[Result] = []
    for block in blocks:
        found += [event for event in _tool_events(block) or () if isinstance(event, Result)]
    return found


def _tool_events(block: object) -> list[Event] | None:
    if not isinstance(block, dict):
        return None
    for reader in _READERS:
        events = reader(block)
        if events is not None:
            return events
    return None
