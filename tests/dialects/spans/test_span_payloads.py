"""Every container and spelling of spans ends in the same rows; broken pieces harm no others."""

from __future__ import annotations

import base64
import gzip
import json
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from span_kit import TRACE, chat, messages, otlp, span, tool, tools

from whileai_core.dialects.otel import SpansLeftOut, rows_from_otel
from whileai_core.dialects.spans import Span, is_span_payload, spans_in
from whileai_core.errors import SourceNotFound
from whileai_core.sources.items import Origin, Reject

if TYPE_CHECKING:
    from pathlib import Path

ORIGIN = Origin("<memory>")
SPANS = [
    chat(1, messages(("user", "Where is PX-9?")), "Let me look."),
    tool(2, "track", {"id": "PX-9", "n": 2}, {"at": ["Leeds"]}),
    chat(3, messages(("user", "Where is PX-9?")), "In Leeds."),
]
[ROW] = rows_from_otel(SPANS)


def snake(value: dict[str, Any]) -> dict[str, Any]:
    """A flat span in the snake-case spelling."""
    names = {
        "traceId": "trace_id",
        "spanId": "span_id",
        "startTimeUnixNano": "start_time_unix_nano",
        "endTimeUnixNano": "end_time_unix_nano",
    }
    return {names.get(key, key): item for key, item in value.items()}


def old_names(batch: dict[str, Any]) -> dict[str, Any]:
    [resource] = batch["resourceSpans"]
    return {"batches": [{"resource": {}, "instrumentationLibrarySpans": resource["scopeSpans"]}]}


CONTAINERS = {
    "batch": otlp(*SPANS),
    "batches": [otlp(SPANS[0]), otlp(SPANS[1]), otlp(SPANS[2])],
    "older field names": old_names(otlp(*SPANS)),
    "query answer": {"trace": otlp(*SPANS)},
    "snake case": {"resource_spans": [{"scope_spans": [{"spans": list(map(snake, SPANS))}]}]},
    "flat list": SPANS,
    "flat snake-case list": list(map(snake, SPANS)),
    "spans key": {"spans": SPANS},
    "one scope": otlp(*SPANS)["resourceSpans"][0],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_row(name: str) -> None:
    assert is_span_payload(CONTAINERS[name])
    assert rows_from_otel(CONTAINERS[name]) == [ROW]


def test_every_way_to_hand_a_batch_over_gives_the_same_row(tmp_path: Path) -> None:
    whole = json.dumps(otlp(*SPANS))
    lines = "\n".join(json.dumps(otlp(item)) for item in SPANS) + "\n"
    (tmp_path / "batch.json").write_text(json.dumps(otlp(*SPANS), indent=1))
    (tmp_path / "lines.jsonl").write_text(lines)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    sources: list[Any] = [whole, whole.encode(), lines, gzip.compress(whole.encode())]
    sources += [
        tmp_path / "batch.json",
        str(tmp_path / "lines.jsonl"),
        tmp_path / "packed.jsonl.gz",
    ]
    sources += [
        iter([whole]),
        (otlp(item) for item in SPANS),
        (tmp_path / "lines.jsonl").open("rb"),
    ]
    for source in sources:
        assert rows_from_otel(source) == [ROW]
    sources[-1].close()


def test_nothing_gives_nothing_and_a_missing_file_says_so(tmp_path: Path) -> None:
    for source in (None, [], {"resourceSpans": []}, {"resourceSpans": None}, {"spans": []}, b""):
        assert rows_from_otel(source) == []
    with pytest.raises(SourceNotFound, match="missing"):
        rows_from_otel(tmp_path / "missing.json")
    with pytest.raises(TypeError):
        rows_from_otel(7)


def test_broken_pieces_are_rejected_one_by_one() -> None:
    batch = otlp(*SPANS)
    [scope] = batch["resourceSpans"][0]["scopeSpans"]
    scope["spans"] += [None, 3, {"traceId": ["x"], "attributes": [None, {"value": {}}]}]
    batch["resourceSpans"] += [None, "x", {"scopeSpans": [None, 5]}, {"scopeSpans": None}]
    pieces = list(spans_in(batch, ORIGIN))
    assert [piece.reason for piece in pieces if isinstance(piece, Reject)] == ["not_a_span"] * 3
    with pytest.warns(SpansLeftOut, match="3 piece"):
        assert rows_from_otel(batch) == [ROW]


@pytest.mark.parametrize(
    "field",
    [
        {"startTimeUnixNano": "soon"},
        {"startTimeUnixNano": "1.5"},
        {"startTimeUnixNano": float("inf")},
        {"endTimeUnixNano": {}},
        {"events": {"a": 1}},
        {"events": [None, 3, {"name": None, "attributes": []}]},
        {"status": 7},
        {"parentSpanId": 12.5},
        {"name": None},
        {"attributes": {"gen_ai.prompt": "a", "gen_ai.usage.input_tokens": float("inf")}},
        {"attributes": {"gen_ai.prompt": "a", "gen_ai.conversation.id": {}}},
        {"attributes": {"gen_ai.prompt": "a", "gen_ai.tool.name": ["x"]}},
    ],
)
def test_an_odd_field_costs_neither_the_span_nor_the_batch(field: dict[str, Any]) -> None:
    odd = span(1, {"gen_ai.prompt": "a"}) | field
    rows = rows_from_otel([odd, chat(2, messages(("user", "b")), traceId="ab" * 16)])
    assert [row["prompt"] for row in rows] == ["a", "b"]


def test_ids_are_one_in_every_spelling() -> None:
    raw = bytes.fromhex(TRACE)
    spellings = [TRACE.upper(), f"0x{TRACE}", base64.b64encode(raw).decode(), int(TRACE, 16)]
    spellings += [str(int(TRACE, 16)), "5b8efff7-9803-8103-d269-b633813fc60c"]
    for spelling in spellings:
        [row] = rows_from_otel([SPANS[0], SPANS[1] | {"traceId": spelling}, SPANS[2]])
        assert row["conversation_id"] == TRACE
        assert row["steps"] == ROW["steps"]


def test_times_order_in_every_spelling() -> None:
    starts: list[dict[str, Any]] = [
        {"start_time": "2026-03-01T10:00:00.000000001Z"},
        {"startedMs": 1772359200001},
        {"start_time": "2026-03-01T11:00:01+01:00"},
        {"startTime": [1772359202, 5]},
        {"start_timestamp": 1772359203.5},
        {"startTimeUnixNano": "1772359204000000000"},
    ]
    spans = [
        {
            "trace_id": "t",
            "span_id": str(number),
            "attributes": {"tool.input": "{}", "tool.name": str(number)},
        }
        | start
        for number, start in enumerate(starts)
    ]
    [row] = rows_from_otel(reversed(spans))
    assert [name for name, _, _ in tools(row)] == list("012345")
    assert row["ts"] == 1772359200000000001


def test_values_come_out_plain_whatever_wraps_them() -> None:
    arguments = {"n": 2, "big": 2**60, "x": 1.5, "ok": True, "none": None, "rows": [{"a": [1]}, {}]}
    [row] = rows_from_otel(
        otlp(span(1, {"tool.name": "f", "tool.input": arguments, "tool.output": "x"}))
    )
    assert tools(row)[0][1] == arguments
    wrapped = {
        "city": {"stringValue": "Oslo"},
        "days": {"intValue": "3"},
        "f": {"doubleValue": "NaN"},
    }
    [row] = rows_from_otel([span(1, {"tool.name": "f", "tool.input": wrapped})])
    assert tools(row)[0][1] == {"city": "Oslo", "days": 3, "f": "NaN"}


def test_a_value_nested_too_deep_is_kept_as_text() -> None:
    deep: dict[str, Any] = {"leaf": "x"}
    for _ in range(20_000):
        deep = {"child": deep}
    text = "[" * 20_000 + "]" * 20_000
    spans = [
        span(1, {"tool.name": "f", "tool.input": deep}),
        span(2, {"tool.name": "g", "tool.input": text}),
    ]
    [row] = rows_from_otel([*spans, chat(3, messages(("user", "ok")))])
    assert row["prompt"] == "ok"
    arguments = [value for _, value, _ in tools(row)]
    assert all(isinstance(value, str) for value in arguments)
    assert arguments[0].endswith('{"leaf":"x"}' + "}" * 20_000)


JAEGER = {
    "data": [
        {
            "traceID": "ab12",
            "spans": [
                {
                    "traceID": "ab12",
                    "spanID": "01",
                    "operationName": "chat",
                    "references": [],
                    "startTime": 1700000000000000,
                    "duration": 5,
                    "tags": [{"key": "gen_ai.prompt", "value": "hi"}],
                    "logs": [],
                    "processID": "p1",
                },
                {
                    "traceID": "ab12",
                    "spanID": "02",
                    "operationName": "execute_tool f",
                    "references": [{"refType": "CHILD_OF", "traceID": "ab12", "spanID": "01"}],
                    "startTime": 1700000000000002,
                    "duration": 5,
                    "tags": [{"key": "error", "value": True}],
                    "logs": [{"fields": [{"key": "exception.message", "value": "boom"}]}],
                    "processID": "p1",
                },
            ],
            "processes": {"p1": {"serviceName": "desk"}},
        }
    ]
}
ZIPKIN = [
    {
        "traceId": "ab12",
        "id": "01",
        "name": "chat",
        "timestamp": 1700000000000000,
        "duration": 10,
        "tags": {"gen_ai.prompt": "hi", "gen_ai.completion": "yo"},
    }
]


def test_jaeger_and_zipkin_documents_are_read() -> None:
    assert is_span_payload(JAEGER)
    [row] = rows_from_otel(JAEGER)
    assert (row["prompt"], row["ts"]) == ("hi", 1700000000000000000)
    assert tools(row) == [("f", {}, {"status": "error", "output": None, "error": "boom"})]
    [piece] = [p for p in spans_in(JAEGER, ORIGIN) if isinstance(p, Span) and p.parent_id]
    assert (piece.parent_id, piece.service) == ("01", "desk")
    assert is_span_payload(ZIPKIN)
    [row] = rows_from_otel(ZIPKIN)
    assert (row["prompt"], row["final_text"], row["ts"]) == ("hi", "yo", 1700000000000000000)


@pytest.mark.parametrize(
    "printed",
    [
        {  # Python SDK, console exporter
            "name": "chat",
            "context": {"trace_id": f"0x{TRACE}", "span_id": "0x00000000000000aa"},
            "parent_id": "0x00000000000000bb",
            "start_time": "2026-03-01T10:00:05.000000Z",
            "status": {"status_code": "ERROR"},
            "attributes": {"gen_ai.prompt": "hi"},
        },
        {  # JavaScript SDK, console exporter
            "traceId": TRACE,
            "id": "00000000000000aa",
            "parentSpanContext": {"traceId": TRACE, "spanId": "00000000000000bb"},
            "name": "chat",
            "timestamp": 1772359205000000,
            "status": {"code": 2},
            "attributes": {"gen_ai.prompt": "hi"},
        },
        {  # Go SDK, stdout exporter
            "Name": "chat",
            "SpanContext": {"TraceID": TRACE, "SpanID": "00000000000000aa"},
            "Parent": {"TraceID": TRACE, "SpanID": "00000000000000bb"},
            "StartTime": "2026-03-01T10:00:05Z",
            "Status": {"Code": "Error", "Description": ""},
            "Attributes": [{"Key": "gen_ai.prompt", "Value": {"Type": "STRING", "Value": "hi"}}],
        },
        {  # a row of a trace table
            "trace_id": TRACE,
            "span_id": "00000000000000aa",
            "parent_span_id": "00000000000000bb",
            "span_name": "chat",
            "start_timestamp": "2026-03-01T10:00:05Z",
            "otel_status_code": "ERROR",
            "attributes": '{"gen_ai.prompt": "hi"}',
        },
        {  # a data frame of flattened columns
            "context.trace_id": TRACE,
            "context.span_id": "00000000000000aa",
            "parent_id": "00000000000000bb",
            "name": "chat",
            "start_time": "2026-03-01T10:00:05+00:00",
            "status_code": "ERROR",
            "attributes.gen_ai.prompt": "hi",
        },
    ],
)
def test_printed_spans_are_one_span_in_every_spelling(printed: dict[str, Any]) -> None:
    assert is_span_payload(printed)
    [found] = spans_in(printed, ORIGIN)
    assert isinstance(found, Span)
    assert (found.trace_id, found.span_id) == (TRACE, "00000000000000aa")
    assert (found.parent_id, found.name, found.failed) == ("00000000000000bb", "chat", True)
    assert found.start_ns == 1772359205000000000
    assert found.attributes == {"gen_ai.prompt": "hi"}


@pytest.mark.parametrize(
    "value",
    [
        {"prompt": "a", "steps": [], "trace_id": TRACE},
        {"messages": [{"role": "user", "content": "a"}], "trace_id": TRACE, "span_id": "1"},
        {
            "id": "o",
            "traceId": TRACE,
            "type": "GENERATION",
            "startTime": "2026-01-01",
            "input": "a",
        },
        {"data": [{"id": 1}]},
        {"batches": [1, 2]},
        [],
        "text",
        None,
    ],
)
def test_rows_and_records_are_no_spans(value: object) -> None:
    assert not is_span_payload(value)


def test_plumbing_gives_no_rows_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows_from_otel(otlp(span(1, {"http.method": "GET"}))) == []


@pytest.mark.parametrize("level", ["resourceSpans", "scopeSpans", "spans"])
def test_an_object_where_a_list_belongs_is_a_list_of_one(level: str) -> None:
    batch = otlp(SPANS[2])
    [resource] = batch["resourceSpans"]
    [scope] = resource["scopeSpans"]
    holder = {"resourceSpans": batch, "scopeSpans": resource, "spans": scope}[level]
    holder[level] = holder[level][0]
    [row] = rows_from_otel(batch)
    assert row["final_text"] == "In Leeds."
