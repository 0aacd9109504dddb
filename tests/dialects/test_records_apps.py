"""Coding agents, chat apps, evaluators and services whose files are one conversation each."""

from __future__ import annotations

from typing import Any

import pytest
from record_cases import error, only_row, rows_of, told

ASK = "How tall is Mont Ventoux?"
DONE = "1910 metres."
CALL = ("lookup", {"peak": "Mont Ventoux"}, {"metres": 1910})
MONT_VENTOUX = [("user", ASK), CALL, ("text", DONE)]
FAILED = ("fly", {}, error("no wings"))


@pytest.mark.parametrize(
    "name",
    [
        "vscode-chat/session.json",
        "vscode-chat/log.jsonl",
        "cline/native.json",
        "qwen-code/session.jsonl",
        "zed/thread-0.3.json",
        "zed/thread-0.2.json",
        "librechat/tree.json",
        "librechat/list.json",
        "open-webui/export.json",
        "lm-studio/conversation.json",
        "deepeval/cases.json",
        "posthog/events.jsonl",
        "posthog/page.json",
        "datadog/page.json",
        "datadog/spans.jsonl",
        "datadog/sdk.json",
    ],
)
def test_one_conversation_is_one_row(name: str) -> None:
    row = only_row(name)
    assert told(row) == MONT_VENTOUX
    assert (row["prompt"], row["final_text"]) == (ASK, DONE)
    assert row["dialect"] == name.partition("/")[0]


@pytest.mark.parametrize(
    "name", ["opencode/export.json", "opencode/messages.json", "amp/thread.json"]
)
def test_failed_calls_are_faults(name: str) -> None:
    assert told(only_row(name)) == [("user", ASK), CALL, FAILED, ("text", DONE)]


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("vscode-chat/log.jsonl", {"conversation_id": "chat-7", "title": "Peaks", "model": "m-1"}),
        ("opencode/export.json", {"system": "Be brief.", "title": "Peaks", "model": "m-1"}),
        ("zed/thread-0.3.json", {"title": "Peaks", "model": "m-1"}),
        ("librechat/tree.json", {"conversation_id": "chat-7", "model": "m-1"}),
        ("open-webui/export.json", {"system": "Be brief.", "title": "Peaks", "model": "m-1"}),
        ("lm-studio/conversation.json", {"system": "Be brief.", "model": "m-1"}),
        ("posthog/page.json", {"conversation_id": "chat-7", "trace_id": "t1", "model": "m-1"}),
        ("datadog/page.json", {"conversation_id": "chat-7", "trace_id": "t1", "agent": "guide"}),
    ],
)
def test_what_is_known_about_a_conversation_is_kept(name: str, known: dict[str, Any]) -> None:
    row = only_row(name)
    assert {key: row.get(key) for key in known} == known


@pytest.mark.parametrize(
    "name",
    ["opencode/export.json", "qwen-code/session.jsonl", "posthog/events.jsonl", "datadog/sdk.json"],
)
def test_tokens_add_up(name: str) -> None:
    assert only_row(name)["usage"] == {"input_tokens": 30, "output_tokens": 9}


def test_cline_tools_written_as_xml_are_calls_and_questions_are_turns() -> None:
    assert told(only_row("cline/task.json")) == [
        ("user", ASK),
        ("text", "I search."),
        ("search_files", {"path": "peaks", "regex": "Ventoux"}, {"metres": 1910}),
        (
            "use_mcp_tool",
            {
                "server_name": "atlas",
                "tool_name": "lookup",
                "arguments": {"peak": "Mont Ventoux"},
            },
            "none",
        ),
        ("text", "In metres?"),
        ("user", "Yes"),
        ("text", DONE),
    ]


@pytest.mark.parametrize("name", ["promptfoo/output.json", "promptfoo/output.jsonl"])
def test_promptfoo_results_are_graded(name: str) -> None:
    good, bad = rows_of(name)
    assert told(good) == [("user", ASK), ("text", DONE)]
    assert (good["reward"], good["reward_source"]) == (1, "success")
    assert good["scores"] == {"score": 0.5, "tone": 0.25}
    assert (good["model"], good["usage"]) == ("m-1", {"input_tokens": 30, "output_tokens": 9})
    assert told(bad) == [("user", ASK), ("lookup", {"peak": "Mont Ventoux"}, "no result")]
    assert (bad["system"], bad["reward"]) == ("Be brief.", 0)


def test_deepeval_runs_are_graded() -> None:
    single, several = rows_of("deepeval/run.json")
    assert told(single) == told(several) == MONT_VENTOUX
    assert (single["reward"], single["scores"]) == (1, {"Relevancy": 0.75})
    assert several["reward"] == 0
