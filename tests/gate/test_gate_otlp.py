"""`POST /v1/traces`: spans of exporters become parts of raw datasets."""

from __future__ import annotations

import gzip
import itertools
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from otlp_kit import chat, request, span, tool, trace_id

WEATHER = {"gen_ai__agent__name": "Weather Bot"}


def send(user: Any, *spans: Any, status: int = 202, **resource: str) -> Any:
    return user.call("POST", "/v1/traces", status, json=request(*spans, **resource))


def rows(user: Any, dataset: str) -> list[Any]:
    parts = user.call("GET", f"/datasets/{dataset}/download", 200)["parts"]
    lines = b"".join(user.http.get(url).content for url in parts).splitlines()
    return [json.loads(line) for line in lines]


def traces(user: Any) -> list[str]:
    return [trace["traceId"] for trace in user.call("GET", "/traces", 200)["traces"]]


def test_traces_become_parts_of_the_agents_raw_dataset(user: Any) -> None:
    answer = send(
        user,
        chat("a", "Rain?", "No.", **WEATHER),
        chat("b", "Snow?", "Yes.", 5, **WEATHER),
    )
    assert answer == {"datasetId": answer["datasetId"], "rows": 2}
    row = user.call("GET", f"/datasets/{answer['datasetId']}", 200)
    assert (row["purpose"], row["agent"], row["status"], row["rows"]) == (
        "raw",
        "weather-bot",
        "ready",
        2,
    )
    assert [(row["prompt"], row["final_text"]) for row in rows(user, answer["datasetId"])] == [
        ("Rain?", "No."),
        ("Snow?", "Yes."),
    ]
    assert traces(user) == [trace_id("a"), trace_id("b")]
    assert user.call("GET", "/traces?agent=weather%20bot", 200)["total"] == 2
    (agent,) = user.call("GET", "/agents", 200)["agents"]
    assert (agent["name"], agent["traces"], agent["datasets"]["raw"]) == ("Weather Bot", 2, 1)


def test_a_redelivery_counts_once(user: Any) -> None:
    first = send(user, chat("a", "Rain?", "No."), tool("a", "radar", 2))
    parts = user.call("GET", f"/datasets/{first['datasetId']}/download", 200)["partSha256"]
    for _ in range(2):
        assert send(user, tool("a", "radar", 2), chat("a", "Rain?", "No.")) == first
    again = user.call("GET", f"/datasets/{first['datasetId']}/download", 200)["partSha256"]
    assert again == parts
    assert len(rows(user, first["datasetId"])) == 1
    assert len(user.listed()) == 1


def test_late_spans_make_the_part_anew_in_any_order(new_user: Callable[[], Any]) -> None:
    spans = [
        chat("a", "Rain?", "Let me see.", 0),
        tool("a", "radar", 2, '{"rain": false}'),
        span("a", "invoke_agent", 1, gen_ai__agent__name="Weather", gen_ai__conversation__id="c"),
    ]
    whole = None
    for order in itertools.permutations(spans):
        user = new_user()
        for one in order:
            send(user, one)
        (dataset,) = user.listed()
        assert user.call("GET", "/traces", 200)["traces"] == [
            {"traceId": trace_id("a"), "agent": "weather", "datasetId": dataset}
        ]
        seen = rows(user, dataset)
        whole = whole or seen
        assert seen == whole
    assert whole
    assert whole[0]["conversation_id"] == "c"
    assert whole[0]["steps"][0]["tool"] == "radar"


def test_a_conversation_over_several_traces_is_one_row(user: Any) -> None:
    talk = {"gen_ai__conversation__id": "talk-1"}
    send(user, chat("a", "Rain?", "No.", 0, **talk))
    answer = send(user, chat("b", "And snow?", "Yes.", 60, **talk))
    (row,) = rows(user, answer["datasetId"])
    assert (row["prompt"], row["final_text"]) == ("Rain?", "Yes.")
    assert traces(user) == [trace_id("a"), trace_id("b")]
    user.call("DELETE", f"/traces/{trace_id('a')}", 200)
    (row,) = rows(user, answer["datasetId"])
    assert row["prompt"] == "And snow?"
    assert traces(user) == [trace_id("b")]


def test_a_resource_can_name_its_dataset(user: Any) -> None:
    named = send(user, chat("a", "Rain?", "No."), zeroproof__dataset="nightly weather")
    other = send(user, chat("b", "Rain?", "No."))
    assert user.call("GET", f"/datasets/{named['datasetId']}", 200)["name"] == "nightly weather"
    assert user.call("GET", f"/datasets/{other['datasetId']}", 200)["agent"] == "helpdesk"
    later = send(user, chat("c", "Hail?", "No."), zeroproof__dataset="nightly weather")
    assert later["datasetId"] == named["datasetId"]


def test_a_trace_moves_when_its_agent_becomes_known(user: Any) -> None:
    before = send(user, chat("a", "Rain?", "No.", 5))
    root = span("a", "invoke_agent", 0, gen_ai__agent__name="Weather")
    after = send(user, root)
    assert after["rows"] == 1
    assert after["datasetId"] != before["datasetId"]
    assert user.listed() == [after["datasetId"]]


def test_agents_in_other_scripts_stay_apart(user: Any) -> None:
    send(user, chat("a", "Rain?", "No.", gen_ai__agent__name="天気"))
    send(user, chat("b", "Rain?", "No.", gen_ai__agent__name="客服"))
    assert len(user.listed()) == 2
    names = {agent["name"] for agent in user.call("GET", "/agents", 200)["agents"]}
    assert names == {"天気", "客服"}


def test_spans_without_content_are_a_partial_success(user: Any) -> None:
    plumbing = span("p", "GET /health", 0, http__request__method="GET")
    answer = send(user, plumbing, chat("a", "Rain?", "No."))
    assert answer["rows"] == 1
    assert answer["partialSuccess"]["rejectedSpans"] == "1"
    assert "content" in answer["partialSuccess"]["errorMessage"]
    nothing = send(user, plumbing)
    assert (nothing["datasetId"], nothing["rows"]) == (None, 0)
    assert traces(user) == [trace_id("a")]


def test_what_is_no_span_is_counted_and_the_rest_is_taken(user: Any) -> None:
    answer = send(
        user, chat("a", "Rain?", "No."), "no span", {**chat("b", "x", "y"), "traceId": ""}
    )
    assert answer["rows"] == 1
    assert answer["partialSuccess"]["rejectedSpans"] == "2"


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("deflate", zlib.compress), ("identity", bytes)],
)
def test_packed_bodies(user: Any, encoding: str, pack: Callable[[bytes], bytes]) -> None:
    body = json.dumps(request(chat("a", "Rain?", "No."))).encode()
    headers = {"Content-Type": "application/json; charset=utf-8", "Content-Encoding": encoding}
    answer = user.call("POST", "/v1/traces", 202, content=pack(body), headers=headers)
    assert answer["rows"] == 1


@pytest.mark.parametrize(
    ("status", "body", "headers"),
    [
        (400, b"{", {}),
        (400, b"[]", {}),
        (400, b'{"resourceSpans": 1}', {}),
        (400, b"\xff\xff", {"Content-Type": "application/x-protobuf"}),
        (400, b"no gzip", {"Content-Encoding": "gzip"}),
        (400, gzip.compress(b"{}" * 99, mtime=0)[:-9], {"Content-Encoding": "gzip"}),
        (415, b"{}", {"Content-Encoding": "br"}),
        (415, b"{}", {"Content-Type": "text/plain"}),
    ],
)
def test_what_is_no_request_is_refused(
    user: Any, status: int, body: bytes, headers: dict[str, str]
) -> None:
    sent = {"Content-Type": "application/json"} | headers
    assert set(user.call("POST", "/v1/traces", status, content=body, headers=sent)) == {"error"}
    assert user.listed() == []


@pytest.mark.parametrize("media", ["application/json", "application/x-protobuf"])
def test_an_empty_request_is_fine(user: Any, media: str) -> None:
    reply = user.http.post(
        "/v1/traces", content=b"", headers={"X-Api-Key": user.key, "Content-Type": media}
    )
    assert reply.status_code == 202
    assert reply.headers["content-type"].startswith(media)


def test_packed_and_unpacked_size_are_limited(serve_with: Callable[..., Any]) -> None:
    user = serve_with(max_traces_bytes=1000).user()
    bomb = gzip.compress(b" " * 100_000, mtime=0)
    headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
    user.call("POST", "/v1/traces", 413, content=bomb, headers=headers)
    headers = {"Content-Type": "application/json"}
    user.call("POST", "/v1/traces", 413, content=b" " * 1001, headers=headers)


def test_a_silent_trace_of_a_conversation_does_not_take_its_row_away(user: Any) -> None:
    told = send(user, chat("talk", "Snow?", "Yes.", 5, gen_ai__conversation__id="c1"))
    send(user, span("silent", "GET /", 0, gen_ai__conversation__id="c1"))
    (row,) = rows(user, told["datasetId"])
    assert (row["prompt"], row["trace_id"]) == ("Snow?", trace_id("talk"))
    assert traces(user) == [trace_id("talk")]


def test_accounts_do_not_see_each_others_traces(user: Any, new_user: Callable[[], Any]) -> None:
    mine = send(user, chat("a", "Rain?", "No."))
    stranger = new_user()
    theirs = send(stranger, chat("a", "Rain?", "No."))
    assert theirs["datasetId"] != mine["datasetId"]
    stranger.call("DELETE", f"/traces/{trace_id('a')}", 200)
    assert traces(stranger) == rows(stranger, theirs["datasetId"]) == []
    assert len(rows(user, mine["datasetId"])) == 1


@pytest.mark.parametrize("what", ["trace", "dataset"])
def test_what_was_deleted_does_not_come_back_with_a_late_span(user: Any, what: str) -> None:
    dataset = send(user, chat("a", "Rain?", "No."))["datasetId"]
    path = f"/traces/{trace_id('a')}" if what == "trace" else f"/datasets/{dataset}"
    user.call("DELETE", path, 200)
    assert traces(user) == []
    answer = send(user, span("a", "late", 9, http__route="/"))
    assert (answer["datasetId"], answer["rows"]) == (None, 0)


def test_texts_that_databases_refuse_are_kept(user: Any) -> None:
    answer = send(user, chat("a", "nul \0 here", "lone \ud800 half"), service="a\0b")
    (row,) = rows(user, answer["datasetId"])
    assert row["prompt"] == "nul \0 here"
