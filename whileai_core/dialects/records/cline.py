"""Cline, Roo Code and Kilo Code tasks: `api_conversation_history.json`.

Messages in the form of the Anthropic API. Tools may be called in the text, as XML, and their
results come back as the user's words; around what the user said stand notes of the editor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.values import arguments_of, result_of
from whileai_core.dialects.records.reader import Reader
from whileai_core.dialects.records.shape import Object, obj, objects
from whileai_core.dialects.steps import row_from_events
from whileai_core.rows import Row

_TOOLS = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "apply_diff",
    "insert_content", "search_and_replace", "search_files", "list_files", "codebase_search",
    "list_code_definition_names", "browser_action", "use_mcp_tool", "access_mcp_resource",
    "ask_followup_question", "attempt_completion", "plan_mode_respond", "new_task", "switch_mode",
    "update_todo_list", "fetch_instructions", "web_fetch", "run_slash_command", "use_skill",
)  # fmt: skip
_CALL = re.compile(rf"<({'|'.join(_TOOLS)})>(.*?)</\1>", re.DOTALL)
_PARAMETER = re.compile(r"<(\w+)>(.*?)</\1>", re.DOTALL)
_RESULT = re.compile(r"\[([a-z_]+)(?: for [^\n]*)?\] Result:\n?")
_NOTES = re.compile(
    r"<(environment_details|system-reminder|task_progress|explicit_instructions)\b.*?(?:</\1>|\Z)",
    re.DOTALL,
)
_SAID = re.compile(r"<(task|user_message|feedback|answer)>\s*(.*?)\s*</\1>", re.DOTALL)
_THINKING = re.compile(r"<thinking>.*?(?:</thinking>|\Z)", re.DOTALL)
_MARK = "<environment_details>"
_FINISHES = {"attempt_completion": "result", "plan_mode_respond": "response"}
_QUESTION = {"ask_followup_question": "question"}


def _texts(message: Object) -> list[str]:
    content = message.get("content")
    if isinstance(content, str):
        return [content]
    blocks = objects(content)
    return [block["text"] for block in blocks if isinstance(block.get("text"), str)]


def _matches(head: Sequence[object]) -> bool:
    first = obj(head[0]) if head else {}
    if first.get("role") != "user":
        return False
    return any(_MARK in text for text in _texts(first))


def _row(messages: list[Object]) -> Row | None:
    return row_from_events([event for message in messages for event in _events(message)])


def _events(message: Object) -> list[Event]:
    events: list[Event] = []
    for event in _split(message):
        if isinstance(event, Ask):
            events += _user_events(event.text)
        elif isinstance(event, Say):
            events += _agent_events(event.text)
        elif isinstance(event, Call) and event.name in _FINISHES:
            events += _spoken(event)
        else:
            events.append(event)
    return events


def _split(message: Object) -> Iterable[Event]:
    """Return the events of a message, the user's texts apart: some are results, some notes."""
    if message.get("role") != "user":
        return events_of([message])
    called = [event for event in events_of([message]) if isinstance(event, Result)]
    texts = [_NOTES.sub("", text).strip() for text in _texts(message)]
    return [*called, *(Ask(text) for text in _with_results(list(filter(None, texts))))]


def _with_results(texts: list[str]) -> list[str]:
    """Put the announcement of a result and the text that follows it together."""
    joined: list[str] = []
    for text in texts:
        if joined and _RESULT.fullmatch(joined[-1] + "\n"):
            joined[-1] += "\n" + text
        else:
            joined.append(text)
    return joined


def _user_events(text: str) -> list[Event]:
    result = _RESULT.match(text)
    said: list[Event] = [Ask(match[2]) for match in _SAID.finditer(text)]
    if result is None:
        return said or [Ask(text)]
    if result[1] in _FINISHES or result[1] in _QUESTION:
        return said
    value = text[result.end() :].strip()
    return [Result(result_of(value), None, result[1])]


def _agent_events(text: str) -> list[Event]:
    events: list[Event] = []
    place = 0
    plain = _THINKING.sub("", text)
    for match in _CALL.finditer(plain):
        events += _say(plain[place : match.start()])
        events += _spoken(Call(match[1], _parameters(match[2])))
        place = match.end()
    return events + _say(plain[place:])


def _say(text: str) -> list[Event]:
    spoken = _NOTES.sub("", text).strip()
    return [Say(spoken)] if spoken else []


def _spoken(call: Call) -> list[Event]:
    """Return a call, or what the agent says by it: its last word, or a question."""
    said = call.arguments.get((_FINISHES | _QUESTION).get(call.name, ""))
    return [Say(said.strip())] if isinstance(said, str) and said.strip() else [call]


def _parameters(body: str) -> Object:
    found: Object = {key: value.strip() for key, value in _PARAMETER.findall(body)}
    if isinstance(found.get("arguments"), str):
        found["arguments"] = arguments_of(found["arguments"]) or found["arguments"]
    return found


TASK = Reader(
    name="cline",
    matches=_matches,
    conversations=lambda values: [[obj(value) for value in values]],
    row=_row,
)
