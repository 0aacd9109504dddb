"""A row as a conversation: who said what, which tools were called, how it was graded."""

from __future__ import annotations

from typing import Any, NamedTuple

from whileai_core.rows import task_key

_SHOWN = frozenset({"prompt", "steps", "final_text", "reward"})
_MOST_TURNS = 200


class Turn(NamedTuple):
    """One thing that was said or done.

    Attributes:
        speaker: `user`, `assistant` or `tool`; a step of another shape is `step`.
        text: What was said; of a tool call, its result.
        tool: Name of the tool that was called.
        arguments: What it was called with.
    """

    speaker: str
    text: Any
    tool: str | None = None
    arguments: Any = None


class Conversation(NamedTuple):
    """A row to be read.

    Attributes:
        number: Its place in the dataset, from 1.
        left_out: Turns that are not shown.
        rest: The other keys of the row.
    """

    number: int
    task: str | None
    reward: Any
    turns: list[Turn]
    left_out: int
    rest: dict[str, Any]


def conversation_of(row: object, number: int) -> Conversation:
    """Return a row of any shape as something to read; what is no conversation is one step."""
    if not isinstance(row, dict):
        return Conversation(number, None, None, [Turn("step", row)], 0, {})
    turns = [Turn("user", row["prompt"])] if row.get("prompt") else []
    steps = row.get("steps")
    turns += [_turn(step) for step in steps] if isinstance(steps, list) else []
    final = row.get("final_text")
    if final and (not turns or turns[-1] != Turn("assistant", final)):
        turns.append(Turn("assistant", final))
    rest = {key: value for key, value in row.items() if key not in _SHOWN}
    left_out = max(0, len(turns) - _MOST_TURNS)
    return Conversation(
        number, task_key(row), row.get("reward"), turns[:_MOST_TURNS], left_out, rest
    )


def _turn(step: object) -> Turn:
    if isinstance(step, dict):
        if step.get("tool"):
            return Turn("tool", step.get("result"), str(step["tool"]), step.get("arguments"))
        for key, speaker in (("user", "user"), ("text", "assistant")):
            if key in step:
                return Turn(speaker, step[key])
    return Turn("step", step)
