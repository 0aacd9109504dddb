"""Seeded rows and chat exports to measure with: sizes and shapes like those of real nights."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = (
    *("order", "parcel", "depot", "carrier", "window", "balance", "ledger", "notice", "queue"),
    *("region", "batch", "scan", "vendor", "permit", "margin", "branch", "harbor", "signal"),
)
_TOOLS = ("find_order", "refund", "search", "update_address", "create_ticket", "read_ledger")


def _text(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(_WORDS, k=words))


def _call(rng: random.Random) -> tuple[str, dict[str, Any], dict[str, Any]]:
    arguments: dict[str, Any] = {"order_id": f"A-{rng.randint(1000, 99999)}"}
    if rng.random() < 0.5:
        arguments["amount"] = round(rng.uniform(1, 900), 2)
    history = [
        {"at": 1_700_000_000 + rng.randint(0, 9_999_999), "event": _text(rng, 4)}
        for _ in range(rng.randint(1, 4))
    ]
    result = {"status": rng.choice(("open", "held", "error")), "history": history}
    return rng.choice(_TOOLS), arguments, result


def row(rng: random.Random, number: int) -> dict[str, Any]:
    """Return one row in the schema."""
    steps: list[dict[str, Any]] = []
    for _ in range(rng.randint(2, 6)):
        tool, arguments, result = _call(rng)
        steps.append({"tool": tool, "arguments": arguments, "result": result})
        if rng.random() < 0.3:
            steps.append({"text": _text(rng, 12)})
    return {
        "scenario_id": f"s{number // 4}",
        "prompt": _text(rng, 20),
        "steps": steps,
        "final_text": _text(rng, 30),
        "reward": rng.choice((0, 1)),
    }


def chat(rng: random.Random, number: int) -> dict[str, Any]:
    """Return one chat export with tool calls."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": _text(rng, 30)},
        {"role": "user", "content": _text(rng, 20)},
    ]
    for turn in range(rng.randint(1, 4)):
        tool, arguments, result = _call(rng)
        function = {"name": tool, "arguments": json.dumps(arguments)}
        identity = f"call_{number}_{turn}"
        calls = [{"id": identity, "type": "function", "function": function}]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": identity, "content": json.dumps(result)})
    messages.append({"role": "assistant", "content": _text(rng, 20)})
    return {"id": f"m{number}", "messages": messages}


def write_lines(path: Path, make: Any, count: int, *, seed: int = 0) -> None:
    """Write `count` records, one a line; the same arguments give the same bytes."""
    rng = random.Random(seed)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps(make(rng, number)) + "\n")


def otlp_batch(rng: random.Random, number: int) -> dict[str, Any]:
    """Return one OTLP/JSON batch: a conversation of chat and tool spans in GenAI conventions."""
    trace = f"{rng.getrandbits(128):032x}"
    start = 1_700_000_000_000_000_000 + number * 10**9
    history: list[dict[str, Any]] = [_message("user", {"type": "text", "content": _text(rng, 20)})]
    spans: list[dict[str, Any]] = []
    for turn in range(rng.randint(1, 4)):
        tool, arguments, result = _call(rng)
        call = {"type": "tool_call", "id": f"c{turn}", "name": tool, "arguments": arguments}
        spans.append(_chat_span(history, _message("assistant", call)))
        spans.append(
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": tool,
                "gen_ai.tool.call.id": f"c{turn}",
                "gen_ai.tool.call.arguments": json.dumps(arguments),
                "gen_ai.tool.call.result": json.dumps(result),
            }
        )
        answer = {"type": "tool_call_response", "id": f"c{turn}", "response": result}
        history += [_message("assistant", call), _message("tool", answer)]
    reply = _message("assistant", {"type": "text", "content": _text(rng, 30)})
    spans.append(_chat_span(history, reply))
    wire = [
        {
            "traceId": trace,
            "spanId": f"{rng.getrandbits(64):016x}",
            "name": attributes["gen_ai.operation.name"],
            "startTimeUnixNano": str(start + place * 10**6),
            "endTimeUnixNano": str(start + (place + 1) * 10**6),
            "attributes": [
                {"key": key, "value": {"stringValue": value}} for key, value in attributes.items()
            ],
        }
        for place, attributes in enumerate(spans)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": wire}]}]}


def _message(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": role, "parts": list(parts)}


def _chat_span(history: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, str]:
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "support-small-2",
        "gen_ai.input.messages": json.dumps(history),
        "gen_ai.output.messages": json.dumps([reply]),
    }
