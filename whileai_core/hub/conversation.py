"""A row as chat messages: what trainers read, and what the Hub's trace viewer shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio

if TYPE_CHECKING:
    from whileai_core.rows import Row, Step

HARNESS = "whileai"


def messages_of(row: Row) -> list[dict[str, Any]]:
    """Return a row as chat messages with tool calls, their arguments as objects.

    A text and the call right after it are one message. A call that was never answered has no
    tool message.
    """
    messages: list[dict[str, Any]] = []
    system, prompt, final = (row.get(key) for key in ("system", "prompt", "final_text"))
    if isinstance(system, str) and system:
        messages.append({"role": "system", "content": system})
    listed = row.get("steps")
    steps = [s for s in listed if isinstance(s, dict)] if isinstance(listed, list) else []
    if isinstance(prompt, str) and prompt and not (steps and steps[0].get("user") == prompt):
        messages.append({"role": "user", "content": prompt})
    for number, step in enumerate(steps):
        _add_step(messages, step, f"call_{number}")
    if isinstance(final, str) and final and _last_text(messages) != final:
        messages.append({"role": "assistant", "content": final})
    return messages


def _add_step(messages: list[dict[str, Any]], step: Step, call_id: str) -> None:
    if "tool" in step:
        call = {"name": str(step["tool"]), "arguments": step.get("arguments", {})}
        last = messages[-1] if messages else {}
        if last.get("role") != "assistant" or "tool_calls" in last:
            last = {"role": "assistant", "content": ""}
            messages.append(last)
        last["tool_calls"] = [{"id": call_id, "type": "function", "function": call}]
        result = step.get("result")
        if result is not None:
            answer = {"role": "tool", "tool_call_id": call_id, "name": call["name"]}
            messages.append(answer | {"content": text_of(result)})
    elif "user" in step:
        messages.append({"role": "user", "content": text_of(step["user"])})
    elif "text" in step:
        messages.append({"role": "assistant", "content": text_of(step["text"])})


def _last_text(messages: list[dict[str, Any]]) -> str | None:
    """Return the last reply, unless something came after it."""
    last = messages[-1] if messages else {}
    return last["content"] if last.get("role") == "assistant" else None


def session_text(messages: list[dict[str, Any]], session_id: str, model: object) -> str:
    """Return messages as a session in the Hub's simple trace format: JSON lines, a header first."""
    lines: list[dict[str, Any]] = [{"type": "session", "harness": HARNESS, "id": session_id}]
    for message in messages:
        shown: dict[str, Any] = {"role": message["role"], "content": message["content"]}
        if "tool_calls" in message:
            shown["toolCalls"] = [
                {
                    "id": call["id"],
                    "function": {
                        "name": call["function"]["name"],
                        "arguments": text_of(call["function"]["arguments"]),
                    },
                }
                for call in message["tool_calls"]
            ]
        if "tool_call_id" in message:
            shown["toolCallId"] = message["tool_call_id"]
        if message["role"] == "assistant" and isinstance(model, str):
            shown["model"] = model
        lines.append({"type": "message", "message": shown})
    return "\n".join(jsonio.dumps(line).decode() for line in lines)


def text_of(value: object) -> str:
    """Return a text as it is, anything else as JSON text."""
    return value if isinstance(value, str) else jsonio.text(value)
