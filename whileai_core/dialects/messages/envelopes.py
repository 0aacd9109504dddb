"""What producers wrap around messages: requests, replies, batches."""

from __future__ import annotations

from typing import Any

# Keys that hold the messages of a request or a reply, in the order they are spoken.
_LISTS = (
    "messages",
    "contents",
    "conversations",
    "conversation",
    "choices",
    "candidates",
    "generations",
)
_SINGLE = ("message", "content", "body")


def inner_messages(value: dict[str, Any]) -> list[Any] | None:
    """Return the messages an object wraps, or None when it wraps none."""
    for key in _LISTS:
        found = value.get(key)
        if isinstance(found, list) and found:
            # Choices and candidates are alternatives: the first is the one that was used.
            return found[:1] if key in ("choices", "candidates") else found
    for key in _SINGLE:
        found = value.get(key)
        if isinstance(found, dict):
            return [found]
    given = value.get("input")
    if isinstance(given, list) and given and isinstance(given[0], dict):
        return given
    output = value.get("output")
    if isinstance(output, list) and output and isinstance(output[0], dict):
        return output
    if isinstance(output, dict) and isinstance(output.get("message"), dict):
        return [output["message"]]
    return None
