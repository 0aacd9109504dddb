"""What one rollout gave, whatever kind of agent it was; and how a callable's return is read."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whileai_core.errors import AgentError

if TYPE_CHECKING:
    from whileai_core.rows import Row, Step

_FINISHES = frozenset({"stop", "length", "tool", "error"})
_EXTRA = ("seeded", "opener")


@dataclass(frozen=True, slots=True)
class Rollout:
    """One conversation.

    Attributes:
        steps: Tool calls and turns after the opening line, in time order.
        final_text: The last reply.
        finish_reason: `stop`, `length`, `tool` or `error`.
        ended_by: `user_left`, or None.
        usage: `input_tokens` and `output_tokens`, if known.
        extra: Further keys of the row that the agent gave.
    """

    steps: list[Step]
    final_text: str
    finish_reason: str = "stop"
    ended_by: str | None = None
    usage: dict[str, int] | None = None
    extra: Row = field(default_factory=dict)


def read_rollout(returned: object, prompt: str, asked: list[Step], *, agent: str) -> Rollout:
    """Read what a callable returned.

    Args:
        returned: A text; an object with `steps` or `final_text`; one message, a list of
            messages, or a reply in any shape that `load_traces` reads.
        prompt: What the agent was asked.
        asked: What it asked the world, the steps where it returned none.
        agent: Its name, for messages.

    Raises:
        AgentError: There is no reply in it.
    """
    value = _plain(returned)
    if isinstance(value, str):
        rollout = Rollout(list(asked), value)
    elif isinstance(value, Mapping) and ("final_text" in value or "steps" in value):
        rollout = _of_row(value, prompt, asked, agent)
    else:
        rollout = _of_row(_loaded(value, prompt, agent), prompt, asked, agent)
    if not rollout.final_text.strip() and rollout.finish_reason != "tool":
        raise AgentError(f"{agent} replied nothing", kind="empty_reply")
    return rollout


def _plain(value: object) -> Any:
    """Return the data of an object of a client library as plain JSON values."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    return dump() if callable(dump) and not isinstance(value, type) else value


def _of_row(row: Mapping[str, Any], prompt: str, asked: list[Step], agent: str) -> Rollout:
    steps, text = row.get("steps"), row.get("final_text", "")
    if not isinstance(text, str) or not isinstance(steps, list | None):
        raise _unreadable(agent, "final_text must be a text and steps a list")
    listed = [dict(step) for step in steps or () if isinstance(step, Mapping)]
    if listed and listed[0].get("user") == prompt:
        del listed[0]
    if not any("tool" in step for step in listed):
        listed = [*asked, *listed]
    finish = row.get("finish_reason")
    usage = row.get("usage")
    return Rollout(
        steps=listed,
        final_text=text,
        finish_reason=finish if finish in _FINISHES else "stop",
        ended_by=row.get("ended_by"),
        usage=dict(usage) if isinstance(usage, Mapping) else None,
        extra={key: row[key] for key in _EXTRA if row.get(key)},
    )


def _loaded(value: Any, prompt: str, agent: str) -> Row:
    from whileai_core.dialects.load import RecordsLeftOut, load_traces

    if isinstance(value, Mapping) and "role" in value:
        value = [value]
    if isinstance(value, list):
        opening = {"role": "user", "content": prompt}
        asks = any(isinstance(turn, Mapping) and turn.get("role") == "user" for turn in value)
        value = {"messages": value if asks else [opening, *value]}
    if not isinstance(value, Mapping):
        raise _unreadable(agent, f"it is {type(value).__name__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RecordsLeftOut)
        rows = load_traces([dict(value)])
    if len(rows) != 1:
        raise _unreadable(agent, f"its keys are {', '.join(map(str, value)) or 'none'}")
    return rows[0]


def _unreadable(agent: str, why: str) -> AgentError:
    return AgentError(
        f"{agent} returned what is no reply: {why}; return a text, an object with final_text and "
        "steps, or messages",
        kind="unreadable_reply",
    )
