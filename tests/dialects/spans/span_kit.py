"""Small builders of spans for the tests beside this file."""

from __future__ import annotations

import json
from typing import Any

TRACE = "5b8efff798038103d269b633813fc60c"


def messages(*turns: tuple[str, str]) -> str:
    return json.dumps([{"role": role, "content": text} for role, text in turns])


def span(number: int, attributes: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A flat span; its number is its id and its start."""
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "startTimeUnixNano": number,
        "endTimeUnixNano": number,
        "name": "",
        "attributes": attributes,
        **fields,
    }


def parent(number: int) -> dict[str, str]:
    return {"parentSpanId": f"{number:016x}"}


def chat(number: int, asked: str, said: Any = None, **fields: Any) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked}
    if said is not None:
        attributes["gen_ai.output.messages"] = said
    return span(number, attributes, **fields)


def tool(
    number: int,
    name: str,
    arguments: Any,
    result: Any = None,
    *,
    call: str | None = None,
    **fields: Any,
) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
    for key, value in (
        ("gen_ai.tool.call.arguments", arguments),
        ("gen_ai.tool.call.result", result),
        ("gen_ai.tool.call.id", call),
    ):
        if value is not None:
            attributes[key] = value if isinstance(value, str) else json.dumps(value)
    return span(number, attributes, **fields)


def calling(call: str | None, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """An assistant message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    entry: dict[str, Any] = {"type": "function", "function": function}
    if call is not None:
        entry["id"] = call
    return {"role": "assistant", "content": None, "tool_calls": [entry]}


def wire(value: Any) -> dict[str, Any]:
    """A value as OTLP/JSON writes it."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [wire(item) for item in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": k, "value": wire(v)} for k, v in value.items()]}}
    return {} if value is None else {"stringValue": value}


def otlp(*spans: dict[str, Any]) -> dict[str, Any]:
    """An OTLP/JSON batch of flat spans."""
    wired = [
        item | {"attributes": [{"key": k, "value": wire(v)} for k, v in item["attributes"].items()]}
        for item in spans
    ]
    return {"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": wired}]}]}


def tools(row: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (step["tool"], step["arguments"], step.get("result"))
        for step in row["steps"]
        if "tool" in step
    ]


def users(row: dict[str, Any]) -> list[str]:
    return [step["user"] for step in row["steps"] if "user" in step]
