"""The tool calls of a row, read once for everything that looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core import jsonio
from whileai_core.traces.intake import schema_step
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from whileai_core.rows import Row, Step

JsonObject = dict[str, Any]


class ToolCall(NamedTuple):
    """One tool step.

    Attributes:
        tool: Name of the tool, never empty.
        arguments: Its arguments; an empty object when they are none.
        result: What came back, None when nothing was seen.
        answer: The result as an object; empty when it is none.
    """

    tool: str
    arguments: JsonObject
    result: Any
    answer: JsonObject


def tool_calls(row: Row) -> Iterator[ToolCall]:
    """Yield the tool steps of a row in order; entries that are no tool step are passed over."""
    steps = row.get("steps")
    if not isinstance(steps, list):
        return
    for step in steps:
        if isinstance(step, dict) and (tool := step.get("tool")):
            if "arguments" not in step or "result" not in step:
                step = schema_step(step)
            result = step.get("result")
            yield ToolCall(
                tool if type(tool) is str else plain_text(tool),
                arguments_of(step),
                result,
                result if type(result) is dict else as_object(result),
            )


def arguments_of(step: Step) -> JsonObject:
    """Return the arguments of a tool step as an object; JSON text is read."""
    if "arguments" not in step:
        step = schema_step(step)
    value = step.get("arguments")
    return value if type(value) is dict else as_object(value)


def as_object(value: object) -> JsonObject:
    """Return an object as it is, a text that parses to one as that, anything else as `{}`."""
    if isinstance(value, dict):
        return value
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        try:
            parsed = jsonio.loads(value)
        except ValueError:
            return {}
        return parsed if isinstance(parsed, dict) else {}
    return {}
