"""What the gate and the scan look at in a row, read once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.quality.grades import label_of
from whileai_core.quality.tasks import Task, task_of
from whileai_core.traces.faults import fault_of_result
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from whileai_core.rows import Row
    from whileai_core.traces.labels import Label

_LONG_REPLY = 200
_ENDING = 80
_FINISHED = re.compile(
    r"""(?:
        [.!?…:;)\]}"'”’»。！？*_~|>]          # punctuation, closed brackets, quotes, markup
      | ```                                    # a closed code fence
      | [^\w\s]                                # any symbol, an emoji among them
      | (?:^|\n)\s*[\d.,%$€£+-]+               # a bare number on its own line
      | (?:^|\n)\s*(?:best|regards|cheers|thanks|thank\ you|sincerely|yours)\b[^\n]*
    )\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_CUT_REASON = re.compile(r"\btruncat|cut off|max[_ ]tokens|token limit", re.IGNORECASE)
_CUT_FINISH = frozenset({"length", "max_tokens", "max_output_tokens"})


class Facts(NamedTuple):
    """One row, read.

    Attributes:
        task: Its task.
        label: 0, 1 or None.
        text: What the assistant said: the reply, and its other turns.
        length: Characters of all assistant turns.
        tools: Names of the tools called, in order.
        turns: Assistant turns; a tool call is one.
        truncated: Whether the reply was cut.
        faults: What went wrong in tool results, each name once.
    """

    task: Task
    label: Label | None
    text: str
    length: int
    tools: tuple[str, ...]
    turns: int
    truncated: bool
    faults: tuple[str, ...]


def facts_of(rows: Iterable[Row]) -> list[Facts]:
    """Read rows."""
    names: dict[tuple[str, ...], tuple[str, ...]] = {}
    return [_facts(row, position, names) for position, row in enumerate(rows)]


def _facts(row: Row, position: int, names: dict[tuple[str, ...], tuple[str, ...]]) -> Facts:
    reply = plain_text(row.get("final_text"))
    steps = row.get("steps")
    tools: list[str] = []
    faults: list[str] = []
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, dict) and (tool := step.get("tool")):
            tools.append(tool if type(tool) is str else plain_text(tool))
            fault = fault_of_result(step.get("result"))
            if fault is not None and fault not in faults:
                faults.append(fault)
    said = _assistant_texts(row)
    if reply and (not said or said[-1] != reply):
        said.append(reply)
    messages = row.get("messages")
    turns = _message_turns(messages) if isinstance(messages, list) else len(tools) + len(said)
    called = tuple(tools)
    return Facts(
        task_of(row, position),
        label_of(row),
        said[0] if len(said) == 1 else "\n".join(said),
        sum(map(len, said)),
        names.setdefault(called, called),
        turns,
        _is_truncated(row, reply),
        tuple(faults),
    )


def _assistant_texts(row: Row) -> list[str]:
    messages = row.get("messages")
    if isinstance(messages, list):
        return [
            text
            for message in messages
            if isinstance(message, dict) and message.get("role") == "assistant"
            if (text := _content_text(message.get("content")))
        ]
    steps = row.get("steps")
    if not isinstance(steps, list):
        return []
    return [
        plain_text(step["text"])
        for step in steps
        if isinstance(step, dict) and step.get("text") and not step.get("tool")
    ]


def _content_text(content: Any) -> str:
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        return "\n".join(part for part in parts if isinstance(part, str))
    return plain_text(content)


def _message_turns(messages: list[Any]) -> int:
    return sum(isinstance(turn, dict) and turn.get("role") == "assistant" for turn in messages)


def _is_truncated(row: Row, reply: str) -> bool:
    if row.get("finish_reason") in _CUT_FINISH:
        return True
    steps = row.get("steps")
    if isinstance(steps, list) and any(
        isinstance(step, dict) and step.get("truncated") is True for step in steps
    ):
        return True
    reason = row.get("reason")
    if isinstance(reason, str) and _CUT_REASON.search(reason):
        return True
    if len(reply) < _LONG_REPLY:
        return False
    return reply.count("```") % 2 == 1 or _FINISHED.search(reply[-_ENDING:]) is None
