"""Tracing and evaluation services: one trace or one evaluated row is one conversation."""

from __future__ import annotations

import pytest
from record_cases import error, only_row, rows_of, told

MONT_VENTOUX = [
    ("user", "How tall is Mont Ventoux?"),
    ("lookup", {"peak": "Mont Ventoux"}, {"metres": 1910}),
    ("text", "1910 metres."),
]


def test_langfuse_counts_a_call_told_by_two_generations_and_a_tool_run_once() -> None:
    row = only_row("langfuse/trace-ai-sdk.json")
    assert told(row) == MONT_VENTOUX
    assert row["prompt"] == "How tall is Mont Ventoux?"
    assert row["final_text"] == "1910 metres."


def test_langfuse_adds_up_the_innermost_generations_only() -> None:
    row = only_row("langfuse/trace-ai-sdk.json")
    assert row["usage"] == {"input_tokens": 30, "output_tokens": 9}
    assert row["model"] == "m-1"


def test_langfuse_scores_are_no_reward() -> None:
    row = only_row("langfuse/trace-ai-sdk.json")
    assert row["scores"] == {"helpful": 0.75}
    assert "reward" not in row
    assert row["conversation_id"] == "chat-7"


def test_langfuse_reads_calls_written_as_text_and_binds_tool_spans_by_id() -> None:
    row = only_row("langfuse/trace-calls-in-text.json")
    assert told(row) == [
        ("user", "Greet Bob twice."),
        ("Hello", {"name": "Bob"}, error("no greeting left")),
        ("Bye", {"name": "Bob"}, "Bye Bob"),
        ("text", "Bye Bob."),
    ]
    assert row["system"] == "Be polite."


def test_langfuse_observation_lines_are_grouped_by_trace() -> None:
    rows = rows_of("langfuse/observations.jsonl")
    assert [(r["trace_id"], r["prompt"], r["final_text"]) for r in rows] == [
        ("t-1", "One?", "First."),
        ("t-2", "Two?", "Second."),
    ]


def test_langfuse_page_of_traces_without_observations() -> None:
    rows = rows_of("langfuse/page-of-traces.json")
    assert [(r["prompt"], r["final_text"]) for r in rows] == [("Hi?", "Hello."), ("Yo?", "Hey.")]


@pytest.mark.parametrize("name", ["langsmith/runs.jsonl", "langsmith/run-tree.json"])
def test_langsmith_runs_of_one_trace_are_one_conversation_in_either_form(name: str) -> None:
    row = only_row(name)
    assert told(row) == [
        ("user", "Weather in Oslo?"),
        ("weather", {"city": "Oslo"}, "snow"),
        ("text", "Snow."),
    ]
    assert row["system"] == "Be short."
    assert row["conversation_id"] == "th-1"
    assert row["scores"] == {"correctness": 1}
    assert "reward" not in row


def test_langsmith_batch_joins_the_halves_of_a_run() -> None:
    row = only_row("langsmith/batch.json")
    assert told(row) == [("user", "howdy"), ("wave", {}, "no result")]
    assert row["final_text"] == ""
    assert row["usage"] == {"input_tokens": 3, "output_tokens": 2}


def test_langsmith_halves_in_two_batches_are_joined_by_their_order() -> None:
    row = only_row("langsmith/batches.json")
    assert told(row) == [("user", "howdy"), ("text", "Hi.")]
    assert row["ts"] == 1767225600000000000


def test_phoenix_span_table() -> None:
    row = only_row("phoenix/spans.jsonl")
    assert told(row) == [("user", "2+2?"), ("add", {"a": 2, "b": 2}, 4), ("text", "Four.")]
    assert row["conversation_id"] == "s-1"
    assert row["usage"] == {"input_tokens": 9, "output_tokens": 2}
    assert row["ts"] == 1767225600000000000


def test_phoenix_experiment_run_keeps_its_reference_and_score() -> None:
    row = only_row("phoenix/experiment.json")
    assert (row["prompt"], row["final_text"]) == ("Capital of Malta?", "Valletta")
    assert row["reference_output"] == {"answer": "Valletta"}
    assert row["scores"] == {"match": 1}


def test_mlflow_row_of_a_trace_search() -> None:
    row = only_row("mlflow/search-result.jsonl")
    assert (row["prompt"], row["final_text"]) == ("Hi?", "Hello.")
    assert (row["trace_id"], row["conversation_id"]) == ("tr-1", "s-9")
    assert row["scores"] == {"relevance": 0.5}


def test_azure_rows_join_query_and_response() -> None:
    agent, plain, scored, calls, chat = rows_of("azure-ai-evaluation/rows.jsonl")
    assert told(agent) == [
        ("user", "Rain in Rome?"),
        ("forecast", {"city": "Rome"}, {"rain": False}),
        ("text", "No rain."),
    ]
    assert agent["system"] == "Help."
    assert (plain["prompt"], plain["final_text"]) == ("Plain?", "Yes.")
    assert scored["scores"] == {"relevance.relevance": 4}
    assert told(calls) == [("user", "Rain in Rome?"), ("forecast", {"city": "Rome"}, "no result")]
    assert told(chat) == [("user", "Hi?"), ("text", "Hello.")]


@pytest.mark.parametrize("name", ["session.json", "events.jsonl"])
def test_honeyhive_events_of_a_session_are_one_conversation(name) -> None:
    row = only_row(f"honeyhive/{name}")
    assert told(row) == MONT_VENTOUX
    assert (row["system"], row["agent"], row["model"]) == ("Be exact.", "Guide", "m-1")
    assert row["usage"] == {"input_tokens": 30, "output_tokens": 9}
    assert row["conversation_id"] == "s-4"
    assert row["scores"] == {"exactness": 1, "rating": 0.5}
    assert row["ts"] == 1767225600000000000
