"""Chat histories of AutoGen 0.2 and AG2, whose roles say who wrote, not who a message is for.

Each agent keeps its own list, in which `assistant` is itself. The list of the one who asked so has
ask and reply the wrong way round; the list of a group chat says `user` everywhere and tells
speakers by `name`. Results of several calls stand in one message, and code the asker ran for the
agent comes back as its words.
"""

from __future__ import annotations

import re
from typing import Any

_ASKERS = re.compile(r"user|proxy|admin|human", re.IGNORECASE)
_SPOKEN = ("user", "assistant")
_EXECUTED = re.compile(r"exitcode: (-?\d+) \([^)\n]*\)\n?(?:Code output: ?)?(.*)\Z", re.DOTALL)
_CODE = re.compile(r"```[^\n]*\n(.*?)```", re.DOTALL)
_CODE_TOOL = "code_execution"


def usual_messages(messages: list[Any]) -> list[Any] | None:
    """Return the messages in the usual form; None when nothing marks the list as of this kind."""
    return in_usual_form(messages) if _is_marked(messages) else None


def in_usual_form(messages: list[Any]) -> list[Any]:
    """Return the messages of a chat with roles as the agent sees them, one message per result."""
    spoken = _spoken(messages)
    asker = spoken[0].get("name") if spoken else None
    swapped = bool(spoken) and spoken[0]["role"] == "assistant"
    found: list[Any] = []
    said = ""
    for message in messages:
        if not isinstance(message, dict):
            continue
        if isinstance(message.get("tool_responses"), list):
            answers = (answer for answer in message["tool_responses"] if isinstance(answer, dict))
            found += [{"role": "tool"} | answer for answer in answers]
        elif _calls(message):
            found.append(message | {"role": "assistant"})
        elif message.get("role") not in _SPOKEN:
            found.append(message)
        elif _asks(message, asker, swapped=swapped):
            found += _executed(message.get("content"), said) or [message | {"role": "user"}]
        else:
            said = message["content"] if isinstance(message.get("content"), str) else ""
            found.append(message | {"role": "assistant"})
    return found


def _is_marked(messages: list[Any]) -> bool:
    """Tell by what no other chat has: answers in a list, or roles at odds with the names."""
    marked = False
    for message in messages:
        if isinstance(message, dict):
            if "tool_responses" in message and isinstance(message["tool_responses"], list):
                return True
            marked = marked or "name" in message
    if not marked:
        return False
    spoken = _spoken(messages)
    names = [name for message in spoken if isinstance(name := message.get("name"), str) and name]
    if not names or len(names) < len(spoken):
        return False
    others = [message for message in spoken if message["name"] != names[0]]
    if not _ASKERS.search(names[0]) or all(_ASKERS.search(other["name"]) for other in others):
        return False
    return spoken[0]["role"] == "assistant" or all(other["role"] == "user" for other in others)


def _spoken(messages: list[Any]) -> list[dict[str, Any]]:
    return [
        message
        for message in messages
        if isinstance(message, dict) and message.get("role") in _SPOKEN and not _calls(message)
    ]


def _calls(message: dict[str, Any]) -> bool:
    return bool(message.get("tool_calls") or message.get("function_call"))


def _asks(message: dict[str, Any], asker: object, *, swapped: bool) -> bool:
    name = message.get("name")
    if asker and name:
        return bool(name == asker)
    return bool(message["role"] == "assistant") == swapped


def _executed(content: object, said: str) -> list[dict[str, Any]]:
    """Return call and result of code that the asker ran, when that is what its words tell."""
    told = _EXECUTED.match(content) if isinstance(content, str) else None
    if told is None:
        return []
    code = "\n".join(_CODE.findall(said))
    call = {"name": _CODE_TOOL, "arguments": {"code": code} if code else {}}
    result = {"output": told[2].strip(), "exit_code": int(told[1])}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"function": call}]},
        {"role": "tool", "name": _CODE_TOOL, "content": result},
    ]
