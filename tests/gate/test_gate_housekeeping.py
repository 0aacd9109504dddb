"""What a served gate clears away by itself."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from gate_kit import run_sql
from otlp_kit import chat, span
from test_gate_otlp import rows, send, traces

from whileai_core.gate.housekeeping import expire_spans
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate


def expire(settings: GateSettings) -> int:
    async def run() -> int:
        async with open_gate(settings) as gate:
            return await expire_spans(gate)

    return asyncio.run(run())


def test_spans_that_came_to_nothing_expire_and_no_others(serve_with: Callable[..., Any]) -> None:
    gate = serve_with(loose_span_seconds=1000)
    user, other = gate.user(), gate.user()
    kept = send(user, chat("talk", "Rain?", "No."), span("talk", "GET /", 2, http__route="/"))
    send(user, span("health", "GET /healthz", http__route="/healthz"))
    send(other, span("talk", "GET /", http__route="/"))
    assert expire(gate.settings) == 0
    run_sql(gate.settings, "UPDATE spans SET received_at = received_at - 2000000")
    assert expire(gate.settings) == 2
    assert expire(gate.settings) == 0
    assert run_sql(gate.settings, "SELECT count(*) FROM spans") == [(2,)]
    assert "No." in str(rows(user, kept["datasetId"]))
    assert len(traces(user)) == 1
    # One that comes anew starts over.
    answer = send(user, chat("health", "Well?", "Yes."))
    assert answer["rows"] == 1


def test_a_served_gate_expires_them_by_itself(serve_with: Callable[..., Any]) -> None:
    gate = serve_with(loose_span_seconds=1000)
    send(gate.user(), span("health", "GET /healthz", http__route="/healthz"))
    run_sql(gate.settings, "UPDATE spans SET received_at = 1")
    serve_with()  # another one on the same store begins to work
    for _ in range(200):
        if run_sql(gate.settings, "SELECT count(*) FROM spans") == [(0,)]:
            return
        time.sleep(0.05)
    raise AssertionError("the span is still there")
