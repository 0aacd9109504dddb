"""Values where a text or a list was expected: what can be made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.messages import events_of, is_message

if TYPE_CHECKING:
    from collections.abc import Sequence

# Keys under which an object carries the text it stands for.
_TEXTS = (
    "question",
    "prompt",
    "answer",
    "text",
    "content",
    "query",
    "input",
    "output",
    "result",
    "response",
    "message",
    "task",
    "final_answer",
    "value",
)
_DEEPEST = 4


def decoded_list(value: object) -> list[Any] | None:
    """Return a list, or the list that a JSON text spells; of anything else None."""
    if isinstance(value, list):
        return value
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            decoded = jsonio.loads(value)
        except ValueError:
            return None
        return decoded if isinstance(decoded, list) else None
    return None


def holds_messages(values: Sequence[object]) -> bool:
    """Tell whether a list consists of messages, as far as its first few tell."""
    head = values[:3]
    return bool(head) and all(map(is_message, head)) and bool(events_of(list(values[:8])))


def text_in(value: object, depth: int = _DEEPEST) -> str:
    """Return the text an object or a list stands for, else its JSON text."""
    if isinstance(value, str):
        return value
    if depth and isinstance(value, dict):
        for key in _TEXTS:
            inner = value.get(key)
            if inner and isinstance(inner, str | dict | list):
                return text_in(inner, depth - 1)
        texts = [inner for inner in value.values() if isinstance(inner, str) and inner]
        if len(texts) == 1:
            return texts[0]
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    if depth and isinstance(value, list) and len(value) == 1:
        return text_in(value[0], depth - 1)
    return jsonio.text(value) if value is not None else ""
