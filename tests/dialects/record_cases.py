"""Short forms for what rows hold, so that a test reads like the conversation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whileai_core.dialects.load import load_traces

DATA = Path(__file__).parent / "data"


def rows_of(name: str) -> list[dict[str, Any]]:
    return load_traces(DATA / name)


def only_row(name: str) -> dict[str, Any]:
    rows = rows_of(name)
    assert len(rows) == 1
    return rows[0]


def told(row: dict[str, Any]) -> list[Any]:
    """Give user and agent turns as (who, text) and calls as (tool, arguments, result)."""
    lines: list[Any] = []
    for step in row["steps"]:
        if "tool" in step:
            lines.append((step["tool"], step["arguments"], step.get("result", "no result")))
        else:
            lines.append(next(iter(step.items())))
    return lines


def error(text: str) -> dict[str, str]:
    return {"error": text, "status": "error"}
