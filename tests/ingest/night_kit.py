"""Small makers for ingest tests: rows, span batches, a night without Prefect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from whileai_core.ingest.night import NightPlan
from whileai_core.ingest.workspace import Workspace


def row(number: int, **extra: Any) -> dict[str, Any]:
    """A row in the schema, told from others by its number."""
    return {
        "prompt": f"Where is parcel {number * 7919} that I sent to number {number}?",
        "steps": [{"tool": "track", "arguments": {"id": number}, "result": {"status": "ok"}}],
        "final_text": f"Parcel {number} is on its way.",
        **extra,
    }


def write_jsonl(path: Path, values: list[Any]) -> Path:
    """Write values as JSON lines; text goes in as it is."""
    lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def chat_span(trace: str, span: str, start: int, ask: str, reply: str, **attributes: Any) -> dict:
    """A GenAI chat span in OTLP JSON form."""
    values = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": ask}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": reply}]}]
        ),
        **attributes,
    }
    return {
        "traceId": trace * 32,
        "spanId": span * 16,
        "name": "chat",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in values.items()],
    }


def batch(*spans: dict[str, Any]) -> dict[str, Any]:
    """An OTLP JSON batch."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


def intake(workspace: Workspace, *paths: Path, night: str = "2026-11-28") -> NightPlan:
    """Do a night up to its plan, without pushing or remembering."""
    found = workspace.discover([str(path) for path in paths])
    shards = [workspace.normalise(plan) for plan in found.shards]
    merged = workspace.merge(shards, night=night)
    quarantine = workspace.keep_rejects(shards, merged, night=night)
    assignment = workspace.split(merged.rows, fraction=0.2, seed=0, threshold=0.9)
    sides = workspace.check_leakage(merged.rows, assignment, threshold=0.9)
    return workspace.plan(
        night=night,
        found=found,
        merged=merged,
        sides=sides,
        report={},
        gate=None,
        quarantine=quarantine,
    )


def remember(workspace: Workspace, plan: NightPlan) -> None:
    """Commit a night as if it had been pushed."""
    workspace.ledger.begin_push(plan.to_dict())
    workspace.ledger.commit(plan.changes, plan.result([]))


def rows_of(plan: NightPlan) -> list[dict[str, Any]]:
    """All rows of a plan, both sides, by row id."""
    rows = [*(plan.train or ()), *(plan.holdout or ())]
    return sorted(rows, key=lambda item: item["row_id"])
