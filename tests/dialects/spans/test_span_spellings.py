"""The same span in the spellings of other exporters says the same."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from whileai_core import rows_from_otel

TRACE = "ab" * 15 + "fb"
MOMENT = 1_767_225_600_123_000_000


def span(**more: Any) -> dict[str, Any]:
    attributes = {"gen_ai.prompt": "Pay 7", "gen_ai.completion": "Paid."}
    return {"traceId": TRACE, "spanId": "1", "name": "chat", "attributes": attributes, **more}


@pytest.mark.parametrize(
    "time",
    [
        {"startTimeUnixNano": 0, "startedMs": 1767225600123},
        {"startTimeUnixNano": "0", "startedMs": 1767225600123},
        {"startTimeUnixNano": "soon", "started_ms": "1767225600123"},
        {"startTimeMs": "2026-01-01T00:00:00.123Z"},
        {"startTimeUnixNano": {"low": MOMENT & 0xFFFFFFFF, "high": MOMENT >> 32}},
        {"startTimeUnixNano": {"low": (MOMENT & 0xFFFFFFFF) - (1 << 32), "high": MOMENT >> 32}},
    ],
    ids=str,
)
def test_start_times(time: dict[str, Any]) -> None:
    (row,) = rows_from_otel([span(**time)])
    assert row["ts"] == MOMENT


def test_integers_in_halves_are_integers() -> None:
    attributes = [
        {"key": "gen_ai.prompt", "value": {"stringValue": "Pay 7"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": {"low": 17, "high": 0}}},
    ]
    (row,) = rows_from_otel([span(attributes=attributes)])
    assert row["usage"] == {"input_tokens": 17, "output_tokens": 0}


def test_trace_ids_in_the_base64_of_addresses() -> None:
    encoded = base64.urlsafe_b64encode(bytes.fromhex(TRACE)).decode()
    assert "-" in encoded or "_" in encoded
    rows = rows_from_otel([span(), span(spanId="2", traceId=encoded)])
    assert [row["conversation_id"] for row in rows] == [TRACE]


@pytest.mark.parametrize(
    ("mark", "failed"),
    [
        ({"error": True}, True),
        ({"error": "true"}, True),
        ({"otel.status_code": "ERROR"}, True),
        ({"error": False}, False),
        ({"error": "none"}, False),
        ({"otel.status_code": "OK"}, False),
    ],
    ids=str,
)
def test_failures_marked_by_plain_attributes(mark: dict[str, Any], failed: bool) -> None:
    attributes = {"tool.name": "pay", "tool.input": "{}", "tool.output": "x", **mark}
    (row,) = rows_from_otel([span(attributes=attributes)])
    expected = {"status": "error", "output": "x"} if failed else "x"
    assert row["steps"] == [{"tool": "pay", "arguments": {}, "result": expected}]


def test_a_failed_span_without_content_gives_no_row() -> None:
    assert rows_from_otel([span(attributes={"error": True, "http.method": "GET"})]) == []
