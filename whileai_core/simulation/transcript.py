"""A row as text, for a model that reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core import jsonio
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.rows import Row

_LONGEST_RESULT = 1200


def transcript(row: Row, *, limit: int) -> str:
    """Return the conversation of a row with tool results; a long one loses its middle.

    Args:
        row: The row.
        limit: Characters at most.
    """
    text = "\n".join(_lines(row))
    if len(text) <= limit:
        return text
    head = limit // 3
    gap = "\n[…]\n"
    return text[:head] + gap + text[len(text) - (limit - head - len(gap)) :]


def _lines(row: Row) -> Iterator[str]:
    prompt, final = plain_text(row.get("prompt")), plain_text(row.get("final_text"))
    steps = row.get("steps")
    listed = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
    if not (listed and plain_text(listed[0].get("user")) == prompt):
        yield f"USER: {prompt}"
    said = ""
    for step in listed:
        if step.get("tool"):
            arguments = _cut(jsonio.text(step.get("arguments") or {}))
            yield f"TOOL CALL: {plain_text(step['tool'])} {arguments}"
            if step.get("result") is not None:
                yield f"TOOL RESULT: {_cut(jsonio.text(step['result']))}"
        elif step.get("user"):
            yield f"USER: {plain_text(step['user'])}"
        elif step.get("text"):
            said = plain_text(step["text"])
            yield f"AGENT: {said}"
    if final and said != final:
        yield f"AGENT: {final}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_RESULT else f"{text[:_LONGEST_RESULT]}…"
