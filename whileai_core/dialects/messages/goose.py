"""Contents of goose messages: `toolRequest` and `toolResponse`, each a success or an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.events import Call, Result
from whileai_core.dialects.messages.values import (
    arguments_of,
    error_result,
    name_of,
    result_of,
    text_id,
)

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_REQUESTS = ("toolRequest", "frontendToolRequest")


def block_events(block: dict[str, Any]) -> list[Event] | None:
    """Return what one content says, or None when it is not of this shape."""
    kind = block.get("type")
    identity = text_id(block.get("id"))
    if kind in _REQUESTS:
        asked = _outcome(block.get("toolCall")).get("value")
        if not isinstance(asked, dict):  # the model's call could not be read
            return []
        return [Call(name_of(asked.get("name")), arguments_of(asked.get("arguments")), identity)]
    if kind == "toolResponse":
        return [Result(_value(_outcome(block.get("toolResult"))), identity)]
    return None


def _outcome(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _value(outcome: dict[str, Any]) -> Any:
    if outcome.get("status") == "error":
        return error_result(outcome.get("error"))
    answer = outcome.get("value")
    if isinstance(answer, dict) and "content" in answer:
        value = result_of(answer["content"])
        return error_result(value) if answer.get("isError") is True else value
    return result_of(answer)
