"""Platforms that keep runs, states and requests: each file is one conversation told in pieces."""

from __future__ import annotations

import pytest
from record_cases import error, only_row, rows_of, told

ASK = "How tall is Mont Ventoux?"
MONT_VENTOUX = [
    ("user", ASK),
    ("lookup", {"peak": "Mont Ventoux"}, {"metres": 1910}),
    ("text", "1910 metres."),
]


@pytest.mark.parametrize(
    "name",
    [
        "braintrust/spans.jsonl",
        "braintrust/page.json",
        "opik/trace.json",
        "opik/mixed.jsonl",
        "weave/calls.jsonl",
        "langgraph/history.json",
        "langgraph/thread.json",
    ],
)
def test_runs_and_states_of_one_conversation_are_one_row(name: str) -> None:
    row = only_row(name)
    assert told(row) == MONT_VENTOUX
    assert (row["prompt"], row["final_text"]) == (ASK, "1910 metres.")
    assert row["dialect"] == name.partition("/")[0]


@pytest.mark.parametrize(
    "name", ["braintrust/spans.jsonl", "opik/mixed.jsonl", "weave/calls.jsonl"]
)
def test_tokens_of_the_model_runs_add_up(name: str) -> None:
    row = only_row(name)
    assert row["usage"] == {"input_tokens": 30, "output_tokens": 9}
    assert row["model"] == "m-1"


def test_scores_are_no_reward() -> None:
    braintrust, opik = only_row("braintrust/page.json"), only_row("opik/trace.json")
    assert braintrust["scores"] == {"helpful": 0.5, "exact": 1}
    assert opik["scores"] == {"helpful": 0.5}
    assert "reward" not in braintrust
    assert "reward" not in opik


@pytest.mark.parametrize(
    "name",
    ["opik/trace.json", "weave/calls.jsonl", "langgraph/history.json", "langgraph/thread.json"],
)
def test_the_thread_is_the_conversation(name: str) -> None:
    assert only_row(name)["conversation_id"] == "chat-7"


@pytest.mark.parametrize("name", ["smolagents/memory.json", "smolagents/result.json"])
def test_smolagents_steps(name: str) -> None:
    row = only_row(name)
    assert told(row) == [
        ("user", ASK),
        ("python_interpreter", {"code": "lookup('Ventoux')"}, 1910),
        ("lookup", {"peak": "x"}, error("no peak x")),
        ("text", "1910 metres."),
    ]
    assert row["usage"] == {"input_tokens": 30, "output_tokens": 12}


def test_bedrock_invocations_hold_request_and_reply() -> None:
    converse, invoke = rows_of("bedrock-invocations/log.jsonl")
    assert told(converse) == MONT_VENTOUX
    assert converse["usage"] == {"input_tokens": 20, "output_tokens": 5}
    assert converse["tools"] == [{"toolSpec": {"name": "lookup"}}]
    assert told(invoke) == [("user", "Hi?"), ("text", "Hello.")]
    assert {converse["system"], invoke["system"]} == {"Be brief."}
