"""The shortcut for chat as OpenAI writes it, which most of a night consists of.

Gives what the general path gives (`events_of`, then `steps_from_events`) for messages with
nothing unusual about them; at the first oddity it gives up and the general path is taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core.dialects.messages.tagged import is_marked
from whileai_core.dialects.messages.values import result_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from whileai_core.rows import Step

# Beside these keys others may change what a message says; so may names, of who speaks to whom.
_ASK = frozenset({"role", "content", "id"})
_AGENT = _ASK | {"tool_calls", "refusal", "function_call", "audio", "annotations"}
_ANSWER = frozenset({"role", "content", "name", "tool_call_id"})


def read_plain_chat(  # noqa: C901  one loop without calls: half of the time is per message
    messages: list[Any], loads: Callable[[str], Any]
) -> tuple[list[Step], str, str] | None:
    """Return steps, first ask and last reply; None when the general path must read the messages.

    Args:
        messages: The messages.
        loads: Parses the JSON texts in them.
    """
    steps: list[Step] = []
    add_step = steps.append
    calls: dict[str, Step] = {}
    prompt: str | None = None
    final_text = ""
    try:
        for message in messages:
            role = message["role"]
            content = message["content"]
            size = len(message)
            if role == "assistant":
                if content:
                    if type(content) is not str:
                        return None
                    if is_marked(content):
                        return None
                    final_text = content
                    add_step({"text": content})
                elif size == 2:
                    continue
                if size > 2:
                    if size > 3 and not _is_plain_agent(message):
                        return None
                    for call in message["tool_calls"]:
                        function = call["function"]
                        name = function["name"]
                        arguments = loads(function["arguments"])
                        identity = call["id"]
                        if not identity or identity in calls or not name:
                            return None
                        if type(name) is not str or type(arguments) is not dict:
                            return None
                        calls[identity] = step = {"tool": name, "arguments": arguments}
                        add_step(step)
            elif role == "tool":
                step = calls[message["tool_call_id"]]
                if type(content) is not str:
                    return None
                if "result" in step or (size > 3 and not message.keys() <= _ANSWER):
                    return None
                if content[:1] == "{":
                    step["result"] = loads(content)
                elif "<tool_response>" in content:
                    return None
                else:
                    step["result"] = result_of(content)
            elif role == "user":
                if type(content) is not str or (size > 2 and not message.keys() <= _ASK):
                    return None
                if is_marked(content):
                    return None
                prompt = content if prompt is None else prompt
                add_step({"user": content})
            elif role != "system":
                return None
    except (LookupError, TypeError, ValueError):
        return None
    return steps, prompt or "", final_text


def _is_plain_agent(message: dict[str, Any]) -> bool:
    says = message["content"] or message.get("tool_calls")  # else it may refuse, or speak
    return bool(says) and message.keys() <= _AGENT and message.get("function_call") is None
