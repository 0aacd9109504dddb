"""Who speaks first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Ask, Call, Instruct, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.envelopes import inner_messages
from whileai_core.dialects.messages.roles import role_of
from whileai_core.dialects.normalise import MESSAGE_KEYS
from whileai_core.dialects.shapes import decoded_list
from whileai_core.traces.intake import items_of

if TYPE_CHECKING:
    from whileai_core.rows import Row


def opening_share(rows: object) -> float:
    """Return the share of conversations that the assistant opens.

    System and developer messages before the first turn are passed over. Rows without messages
    count in the denominator; without rows the share is 0.0.

    Raises:
        TypeError: `rows` holds no items (None, a number).
    """
    total = opened = 0
    for row in items_of(rows):
        if isinstance(row, dict):
            total += 1
            opened += _assistant_opens(row)
    return opened / total if total else 0.0


def _assistant_opens(row: Row) -> bool:
    for message in _messages(row):
        speaks = _assistant_speaks(message)
        if speaks is not None:
            return speaks
    return False


def _messages(row: Row) -> list[Any]:
    for key in MESSAGE_KEYS:
        messages = decoded_list(row.get(key))
        if messages:
            return messages
    prompt = row.get("prompt")
    inner = prompt if isinstance(prompt, list) else inner_messages(row)
    return inner if isinstance(inner, list) else []


def _assistant_speaks(message: Any) -> bool | None:
    """Tell whether a turn is the assistant's; None when it is instructions or no turn."""
    role = role_of(message.get("role")) if isinstance(message, dict) else None
    if role is not None:
        return None if role == "system" else role == "assistant"
    for event in events_of([message]):
        if isinstance(event, Say | Call):
            return True
        if isinstance(event, Ask):
            return False
        if isinstance(event, Instruct):
            return None
    return None
