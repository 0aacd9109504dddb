"""One record into a row: the spellings of prompt, steps, final text and reward.

Producers name the same things differently and put texts, messages or objects into them. The
order in which names are tried is part of the contract with the peer SDK.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Event, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.plain import read_plain_chat
from whileai_core.dialects.messages.values import arguments_of
from whileai_core.dialects.objects import plain_values
from whileai_core.dialects.shapes import decoded_list, holds_messages, text_in
from whileai_core.dialects.steps import steps_from_events

if TYPE_CHECKING:
    from whileai_core.rows import Row, Step

_STEPS = ("steps", "tool_trace", "trace")
MESSAGE_KEYS = (
    "messages",
    "conversations",
    "conversation",
    "contents",
    "chat_history",
    "chat_messages",
    "history",
    "dialogue",
    "dialog",
    "turns",
    "trajectory",
    "traj",
)
_PROMPTS = (
    "prompt",
    "question",
    "input",
    "task",
    "ask",
    "query",
    "instruction",
    "user_input",
    "inputs",
    "request",
    "problem",
    "request_body",
    "full_request",
    "modelInput",
    "responses_create_params",
    "user_message",
    "user_query",
)
_FINALS = (
    "final_text",
    "final",
    "output",
    "response",
    "answer",
    "completion",
    "outputs",
    "reply",
    "final_answer",
    "final_output",
    "response_body",
    "full_response",
    "modelOutput",
    "actual_output",
    "output_message",
    "assistant_message",
    "assistant_response",
    "agent_response",
    "bot_response",
    "generated_answer",
    "generated_text",
    "model_output",
    "prediction",
)
_PROMPT_KEYS = frozenset(_PROMPTS)
_FINAL_KEYS = frozenset(_FINALS)
# What the JSON text of a request and of a provider's reply has in it.
_REQUEST_MARKS = ('"role"', '"contents"')
_REPLY_MARKS = ('"choices"', '"candidates"', '"output_text"', '"stop_reason"')
_ARGUMENTS = ("input", "args", "parameters", "tool_input", "action_input")
_RESULTS = ("output", "response", "observation")
_STEP_KEYS = ("tool", "user", "text")
_CALL_KEYS = ("tool", "arguments", "result")
# With `messages` and nothing but these keys, a record says no ask, reply or steps of its own.
CHAT_KEYS = frozenset(
    {
        "messages",
        "id",
        "tools",
        "functions",
        "parallel_tool_calls",
        "model",
        "reward",
        "scores",
        "metadata",
        "conversation_id",
        "ts",
    }
)


def as_row(item: object) -> Row | None:
    """Return one in-memory item as a row, or None when nothing in it can be used.

    The item is never changed: what differs in the row is copied, the rest is shared.

    Raises:
        ValueError: The item is nested too deep to be made strict JSON.
    """
    if isinstance(item, dict):
        row = dict(item)
    elif isinstance(item, Mapping):
        row = {str(key): value for key, value in item.items()}
    elif isinstance(item, list | tuple) and holds_messages(item):
        row = {"messages": list(item)}
    else:
        return None
    try:
        plain_values(row)
    except RecursionError:
        raise ValueError(jsonio.TOO_DEEP) from None
    return normalise(row, owned=False)


def normalise(row: Row, *, owned: bool, exact: bool = False) -> Row | None:
    """Bring one object into the row schema, in place; None when it has no ask and no steps.

    Args:
        row: The object; its top level is changed.
        owned: Whether nobody else holds what is in it, so that steps may be changed in place.
        exact: Whether it comes from text that is strict JSON without integers past 64 bits.

    Raises:
        ValueError: The object is nested too deep to be made strict JSON.
    """
    try:
        _normalise(row, owned, exact)
    except RecursionError:
        raise ValueError(jsonio.TOO_DEEP) from None
    return row if row["prompt"] or row["steps"] else None


def _normalise(row: Row, owned: bool, exact: bool) -> None:
    if is_canonical(row):
        if not owned:
            row["steps"] = [dict(step) for step in row["steps"]]
    elif not fill_from_chat(row, exact):
        _fill(row, owned)
    if "reward" in row:
        settle_reward(row)
    if not exact:
        for key in ("prompt", "steps", "final_text"):
            row[key] = jsonio.strict(row[key])


def is_chat(row: Row) -> bool:
    """Tell whether a record is a list of messages and nothing that could say more."""
    return row.keys() <= CHAT_KEYS and type(row.get("messages")) is list


def fill_from_chat(row: Row, exact: bool) -> bool:
    """Give plain chat its prompt, steps and final text; tell whether it is plain chat.

    Args:
        row: The record; it is changed only if it is plain chat.
        exact: Whether its texts hold no integers past 64 bits.
    """
    messages = row.get("messages")
    if type(messages) is not list or not row.keys() <= CHAT_KEYS:
        return False
    chat = read_plain_chat(messages, jsonio.loads_exact if exact else jsonio.loads_strict)
    if chat is None or not chat[0]:
        return False
    row["steps"], row["prompt"], row["final_text"] = chat
    return True


def is_canonical(row: Row) -> bool:
    """Tell whether prompt, steps and final text are as the schema has them, and filled."""
    if "steps" not in row:  # as most that is not canonical
        return False
    try:
        steps = row["steps"]
        prompt = row["prompt"]
        final_text = row["final_text"]
        if type(prompt) is not str or type(final_text) is not str or type(steps) is not list:
            return False
        for step in steps:
            if "tool" in step:
                if type(step["arguments"]) is not dict:
                    return False
                step["result"]
                if len(step) > len(_CALL_KEYS) and ("user" in step or "text" in step):
                    return False
            elif not _is_turn(step):
                return False
    except (LookupError, TypeError):
        return False
    return bool(steps and final_text and prompt) and not prompt.isspace()


def _is_turn(step: Any) -> bool:
    if type(step) is not dict or ("text" not in step and "user" not in step):
        return False
    return len(step) == 1 or None not in step.values()  # else keys that a table filled


def _fill(row: Row, owned: bool) -> None:
    prompts = () if _PROMPT_KEYS.isdisjoint(row) else _PROMPTS
    finals = () if _FINAL_KEYS.isdisjoint(row) else _finals(row)
    asked = _structured(row, prompts, _REQUEST_MARKS)
    answered = _structured(row, finals, _REPLY_MARKS)
    steps = _steps(row, owned, answered)
    if steps is None:
        steps = steps_from_events(_joined(asked, answered) or events_of(row))
    row["steps"] = steps
    row["prompt"] = _prompt(row, steps, prompts, asked)
    row["final_text"] = _final_text(row, steps, finals, answered)


def _finals(row: Row) -> tuple[str, ...]:
    """Return where a reply may stand, most telling first.

    Beside a rollout (`completion`, as messages) what else sounds like a reply is the reference.
    """
    rolled_out = isinstance(row.get("completion"), list) and bool(events_of(row["completion"]))
    return ("completion", *_FINALS) if rolled_out else _FINALS


def _structured(row: Row, keys: tuple[str, ...], marks: tuple[str, ...]) -> list[Event]:
    """Return what the first filled one of these keys says, if it holds messages.

    Logs and tables hold them as JSON text, which has one of the marks in it.
    """
    for key in keys:
        value = row.get(key)
        if not value or (isinstance(value, str) and not value.strip()):
            continue
        if isinstance(value, str):
            is_json = value.lstrip()[:1] in ("{", "[") and any(mark in value for mark in marks)
            return events_of(value) if is_json else []
        return events_of(value) if isinstance(value, list | dict) else []
    return []


def _joined(asked: list[Event], answered: list[Event]) -> list[Event]:
    """Put request and reply together; one that repeats the other stands for both."""
    if answered[: len(asked)] == asked:
        return answered
    return asked if asked[-len(answered) :] == answered else asked + answered


def _steps(row: Row, owned: bool, answered: list[Event]) -> list[Step] | None:
    for key in _STEPS:
        entries = decoded_list(row.get(key))
        if entries and any(isinstance(entry, dict) for entry in entries):
            return _entries(entries, owned)
    for key in MESSAGE_KEYS:
        value = row.get(key)
        messages = value if isinstance(value, dict) else decoded_list(value)
        if not messages:
            continue
        events = events_of(messages)
        steps = steps_from_events(_joined(events, answered)) if events else []
        if steps:
            return steps
    return None


def _entries(entries: list[Any], owned: bool) -> list[Step]:
    steps = [entry for entry in entries if isinstance(entry, dict)]
    if not any(key in step for step in steps for key in _STEP_KEYS) and holds_messages(steps):
        return steps_from_events(events_of(steps))
    return [_step(entry if owned else dict(entry)) for entry in steps]


def _step(step: Step) -> Step:
    """Rename the keys of a tool step, in place."""
    _drop_fillers(step)
    if "tool" not in step and not _name_tool(step):
        return step
    for name, others in (("arguments", _ARGUMENTS), ("result", _RESULTS)):
        if name not in step:
            for other in others:
                if other in step:
                    step[name] = step.pop(other)
                    break
    arguments = step.get("arguments")
    if isinstance(arguments, str):
        step["arguments"] = arguments_of(arguments) or arguments
    return step


def _drop_fillers(step: Step) -> None:
    """Take out keys that a table fills with null, because other steps of the column have them."""
    for key in _STEP_KEYS:
        if key in step and step[key] is None and len(step) > 1:
            del step[key]
    if "tool" not in step and ("user" in step or "text" in step):
        for key in ("arguments", "result"):
            if key in step and step[key] is None:
                del step[key]


def _name_tool(step: Step) -> bool:
    """Give a call that names its tool otherwise its `tool` key."""
    if "user" in step or "text" in step:
        return False
    function = step.get("function")
    if isinstance(function, dict) and isinstance(function.get("name"), str):
        step["tool"] = function["name"]
        step.setdefault("arguments", function.get("arguments", {}))
        return True
    for key in ("name", "tool_name", "function_name", "action"):
        name = step.get(key)
        if isinstance(name, str) and name and any(k in step for k in ("arguments", *_ARGUMENTS)):
            step["tool"] = step.pop(key)
            return True
    return False


def _prompt(row: Row, steps: list[Step], keys: tuple[str, ...], asked: list[Event]) -> str:
    instructed = _instructed(row)
    if instructed:
        return instructed
    asks = [step["user"] for step in steps if "user" in step]
    blank = ""
    for key in keys:
        value = row.get(key)
        if not value or value != value or (asks and isinstance(value, dict) and not asked):
            continue  # an object about the request; what was asked stands in the messages
        text = _asked_text(value, asked)
        if text.strip():
            return text
        blank = blank or text
    if asks:
        return asks[0] if isinstance(asks[0], str) else text_in(asks[0])
    return blank


def _instructed(row: Row) -> str:
    """Return the ask of an instruction record, whose `input` is what the instruction is about."""
    instruction, about = row.get("instruction"), row.get("input")
    if not (isinstance(instruction, str) and isinstance(about, str) and "output" in row):
        return ""
    both = [text for text in (instruction, about) if text.strip()]
    return "\n".join(both) if len(both) == 2 else ""


def _asked_text(value: object, asked: list[Event]) -> str:
    if asked and value:
        said = next((e.text for e in asked if isinstance(e, Ask) and e.text.strip()), "")
        return said if said or not isinstance(value, str) else value
    if type(value) is str:
        return value
    return text_in(value) if isinstance(value, list | dict) else str(value)


def _final_text(row: Row, steps: list[Step], keys: tuple[str, ...], answered: list[Event]) -> str:
    for key in keys:
        value = row.get(key)
        if not value or value != value:  # NaN is a gap in a table
            continue
        if not isinstance(value, str | list | dict):
            return str(value)
        if not answered or (isinstance(value, str) and not value.strip()):
            return value if isinstance(value, str) else text_in(value)
        said = [event.text for event in answered if isinstance(event, Say)]
        return said[-1] if said else ""
    for step in reversed(steps):
        if "text" in step:
            text = step["text"]
            return text if isinstance(text, str) else text_in(text)
    return ""


def settle_reward(row: Row) -> None:
    """Keep a reward that is cleanly 0 or 1; another number moves to `scores`."""
    value = row["reward"]
    if type(value) is int and (value == 0 or value == 1):
        return
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if number in (0.0, 1.0):
        row["reward"] = int(number)
        return
    del row["reward"]
    if math.isfinite(number):
        scores = row.get("scores")
        row["scores"] = {"reward": number, **(scores if isinstance(scores, dict) else {})}
