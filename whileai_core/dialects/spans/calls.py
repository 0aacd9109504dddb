"""One tool span: what was called with what, what came back, and whether it failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.dialects.events import Call, Result
from whileai_core.dialects.spans.functions import called_arguments, tool_message, tool_result
from whileai_core.dialects.spans.values import decoded, input_events, output_events, tool_arguments

if TYPE_CHECKING:
    from whileai_core.dialects.spans.reading import Reading

_FAILED_WORDS = frozenset({"error", "failed", "failure", "true"})  # the last of a plain `error`
_CLEAN_WORDS = frozenset({"", "ok", "success", "created", "deleted", "clean", "exit_0"})


class Run(NamedTuple):
    """A tool call as its span tells it; arguments are None when not recorded."""

    name: str
    arguments: Any
    result: Any
    call_id: str | None
    failed: bool


def run_of(reading: Reading) -> Run:
    """Return the call a tool span stands for."""
    arguments = called_arguments(tool_arguments(reading.arguments))
    result = tool_result(reading.result)
    call_id = _text_id(reading.tool_id)
    if reading.inputs or reading.outputs or reading.history:
        arguments, result, call_id = _from_messages(reading, arguments, result, call_id)
    name = str(reading.tool_name or reading.name.removeprefix("execute_tool ").strip() or "tool")
    return ended_run(
        name,
        arguments,
        result,
        call_id,
        failed=reading.failed or reading.error is not None,
        status=reading.tool_status,
        error=reading.exception or reading.message or reading.error,
    )


def ended_run(
    name: str,
    arguments: Any,
    result: Any,
    call_id: str | None,
    *,
    failed: bool,
    status: Any,
    error: Any,
) -> Run:
    """Return a call whose result says whether it failed.

    Args:
        name, arguments, result, call_id: As in `Run`; the result as recorded.
        failed: Whether the span says that it failed.
        status: What the span says of the tool's own status.
        error: What went wrong, if the span says so.
    """
    result, message_id, broken = tool_message(result)
    failed = broken or _has_failed(failed, status, result)
    if failed:
        result = {"status": "error", "output": result}
        if error:
            result["error"] = error
    return Run(name, arguments, result, call_id or message_id, failed)


def _text_id(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _from_messages(
    reading: Reading, arguments: Any, result: Any, call_id: str | None
) -> tuple[Any, Any, str | None]:
    """Read what attributes leave open from the messages that a tool span carries."""
    given = [reading.history.text] if reading.history is not None else reading.inputs
    before = [event for payload in given for event in input_events(payload)]
    after = [
        event for payload in reading.outputs for event in output_events(payload, decoded(payload))
    ]
    call = next((event for event in (*before, *after) if isinstance(event, Call)), None)
    answer = next((event for event in (*after, *before) if isinstance(event, Result)), None)
    if call is not None:
        arguments = call.arguments if arguments is None else arguments
        call_id = call_id or call.id
    if answer is not None:
        result = answer.value if result is None else result
        call_id = call_id or answer.id
    return arguments, result, call_id


def _has_failed(failed: bool, tool_status: Any, result: Any) -> bool:
    """Tell whether a call failed; a result that names a status of its own has the last word."""
    if not failed and not tool_status:  # as most
        return False
    status = str(result.get("status") or "").strip().lower() if type(result) is dict else ""
    if failed:
        return status in _CLEAN_WORDS
    return not status and str(tool_status or "").strip().lower() in _FAILED_WORDS
