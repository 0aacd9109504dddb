"""ShareGPT messages: `from` and `value`, calls as `function_call`, results as `observation`.

Dialogue corpora say `speaker` or `sender` and `text` or `utterance` for the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.messages import openai_chat, tagged
from whileai_core.dialects.messages.roles import role_of
from whileai_core.dialects.messages.values import first, text_of

if TYPE_CHECKING:
    from whileai_core.dialects.events import Event

_SENDERS = ("from", "speaker", "sender")
_CONTENT = ("value", "text", "utterance", "content", "message")
_CALLS = frozenset({"function_call", "tool_call", "function-call", "tool-call"})


def matches(message: dict[str, Any]) -> bool:
    """Tell whether a message says who it is from."""
    sender = first(message, _SENDERS)
    return isinstance(sender, str) and (sender in _CALLS or role_of(sender) is not None)


def events(message: dict[str, Any], joiner: str = "\n") -> list[Event]:
    """Return what one message says."""
    sender = first(message, _SENDERS)
    blocks = message.get("content")  # beside which the text is only their summary
    content = blocks if isinstance(blocks, list) and blocks else first(message, _CONTENT)
    if sender in _CALLS:
        text = text_of(content)
        return tagged.calls_in(text) or tagged.assistant_events(text)
    role = role_of(sender)
    if role is None:
        return []
    return openai_chat.events_as(role, message | {"content": content}, joiner)
