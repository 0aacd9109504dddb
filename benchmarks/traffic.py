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
