"""Session files: many lines, one conversation, and what in them is no turn."""

from __future__ import annotations

import pytest
from record_cases import error, only_row, rows_of, told

DENIED = error("denied")


def test_claude_code_session_without_what_the_program_injects() -> None:
    main = only_row("claude-code/session.jsonl")
    assert told(main) == [
        ("user", "Explore the code."),
        ("text", "I will send a helper."),
        ("Task", {"prompt": "Look around."}, "Only a README."),
        ("user", "/review the README"),
        ("Bash", {"command": "cat nope"}, error("no such file")),
        ("text", "It is short."),
    ]
    assert main["conversation_id"] == "s-1"


def test_claude_code_counts_the_tokens_of_a_reply_once() -> None:
    main = only_row("claude-code/session.jsonl")
    assert main["usage"] == {"input_tokens": 30, "output_tokens": 6}


def test_claude_code_sub_agents_are_kept_apart() -> None:
    (helper,) = only_row("claude-code/session.jsonl")["subagents"]
    assert told(helper) == [("user", "Look around."), ("text", "Only a README.")]
    assert helper["agent"] == "helper"


def test_claude_code_sub_agent_of_a_stream_takes_its_ask_from_the_call() -> None:
    row = only_row("claude-code/sdk-subagent.json")
    assert told(row) == [("Agent", {"prompt": "List them."}, "a.py"), ("text", "One file.")]
    (helper,) = row["subagents"]
    assert told(helper) == [("user", "List them."), ("Bash", {"command": "ls"}, "a.py")]


def test_claude_code_sub_agent_in_a_file_of_its_own() -> None:
    row = only_row("claude-code/agent-file.jsonl")
    assert told(row) == [("user", "Look around."), ("text", "A README.")]
    assert row["agent"] == "helper"


def test_claude_code_starts_anew_after_clear() -> None:
    rows = rows_of("claude-code/cleared.jsonl")
    assert [(r["conversation_id"], r["prompt"], r["final_text"]) for r in rows] == [
        ("s", "First?", "One."),
        ("s#2", "Second?", "Two."),
    ]


def test_claude_code_sessions_in_one_file_are_told_apart() -> None:
    rows = rows_of("claude-code/two-sessions.jsonl")
    assert [(r["conversation_id"], r["prompt"], r["final_text"]) for r in rows] == [
        ("s-1", "First?", "One."),
        ("s-2", "Second?", "Two."),
    ]


def test_claude_agent_sdk_stream() -> None:
    row = only_row("claude-code/sdk-stream.json")
    assert told(row) == [
        ("user", "List files."),
        ("Bash", {"command": "ls"}, "a.txt"),
        ("text", "One file."),
    ]
    assert row["conversation_id"] == "sdk-1"


def test_claude_code_lines_inside_one_object() -> None:
    row = only_row("claude-code/wrapped.json")
    assert told(row) == [("user", "Hi?"), ("text", "Hello.")]


def test_codex_rollout_without_injected_context_and_repeated_screen_events() -> None:
    row = only_row("codex/rollout.jsonl")
    assert told(row) == [
        ("user", "Run the tests."),
        ("shell", {"command": ["pytest"]}, {"exit_code": 1, "output": "1 failed"}),
        ("local_shell", {"command": ["ls"]}, "a.py"),
        ("apply_patch", {"input": "*** Begin Patch"}, "Success."),
        ("web_search", {"type": "search", "query": "pytest"}, "no result"),
        ("text", "One test fails."),
    ]
    assert (row["system"], row["model"]) == ("You are Codex.", "m-10")
    assert row["usage"] == {"input_tokens": 100, "output_tokens": 20}


def test_codex_items_without_envelope() -> None:
    row = only_row("codex/rollout-2025-05.jsonl")
    assert told(row) == [
        ("user", "Hello."),
        ("shell", {"command": ["date"]}, "Mon"),
        ("text", "It is Monday."),
    ]
    assert row["conversation_id"] == "old-1"


def test_codex_screen_events_stand_in_for_missing_messages() -> None:
    row = only_row("codex/screen-events-only.jsonl")
    assert told(row) == [("user", "Ping?"), ("shell", {}, "no result"), ("text", "Pong.")]


def test_codex_exec_events() -> None:
    row = only_row("codex/exec.jsonl")
    assert [step.get("tool") for step in row["steps"]] == ["command_execution", "find", None]
    assert row["steps"][1]["result"]["status"] == "error"
    assert (row["final_text"], row["conversation_id"]) == ("One file.", "th-1")


def test_codex_fork_holds_the_history_it_came_from() -> None:
    row = only_row("codex/fork.jsonl")
    assert told(row) == [("user", "q1"), ("text", "a1"), ("user", "q2"), ("text", "a2")]
    assert row["conversation_id"] == "f2"


def test_codex_sessions_in_one_file_are_told_apart() -> None:
    rows = rows_of("codex/two-sessions.jsonl")
    assert [(r["conversation_id"], r["prompt"]) for r in rows] == [("s1", "q1"), ("s2", "q2")]


def test_kiro_session_lines() -> None:
    row = only_row("kiro/session.jsonl")
    assert told(row) == [
        ("user", "Read a.py"),
        ("text", "Reading."),
        ("fs_read", {"path": "a.py"}, DENIED),
        ("fs_list", {}, {"files": 1}),
        ("text", "I may not."),
    ]


def test_kiro_stored_conversation() -> None:
    row = only_row("kiro/stored.json")
    assert told(row)[2:] == [("fs_read", {"path": "a.py"}, "x = 1"), ("text", "It sets x.")]


def test_kiro_stored_conversation_in_short_form() -> None:
    row = only_row("kiro/stored-short.json")
    assert told(row) == [("user", "List."), ("ls", {}, error("a.py")), ("text", "One.")]


def test_pi_reads_a_broken_chain_in_file_order() -> None:
    row = only_row("pi/openclaw.jsonl")
    assert told(row) == [("user", "Go."), ("ls", {}, "a.py"), ("text", "One.")]


def test_pi_follows_the_branch_that_ends_last() -> None:
    row = only_row("pi/session-v3.jsonl")
    assert told(row) == [
        ("user", "List."),
        ("text", "I look."),
        ("ls", {"path": "."}, DENIED),
        ("text", "I may not."),
    ]
    assert row["usage"] == {"input_tokens": 11, "output_tokens": 3}


def test_pi_linear_sessions_of_version_1() -> None:
    row = only_row("pi/session-v1.jsonl")
    assert told(row) == [("user", "Hello"), ("text", "Hi!")]
    assert row["model"] == "m-0"


HERMES = [("shell", {"command": "pwd"}, "/p"), ("text", "In /p.")]


@pytest.mark.parametrize(
    "name", ["hermes/session.json", "hermes/session.jsonl", "hermes/trajectories.jsonl"]
)
def test_hermes_in_its_three_forms(name: str) -> None:
    row = only_row(name)
    assert row["prompt"] == "Where am I?"
    assert told(row)[-2:] == HERMES
    assert (row["dialect"], row["model"]) == ("hermes", "m-12")


def test_managed_agents_count_repeated_deliveries_once_but_keep_repeated_answers() -> None:
    row = only_row("anthropic-managed-agents/log.jsonl")
    assert told(row) == [
        ("user", "yes"),
        ("search", {"q": "x"}, {"error": "not that one", "status": "denied"}),
        ("bash", {"command": "date"}, error("boom")),
        ("fetch", {}, error("rejected")),
        ("text", "It failed."),
        ("user", "yes"),
        ("text", "Fine."),
    ]
    assert (row["conversation_id"], row["agent"], row["system"]) == ("sesn_1", "Helper", "Help.")


def test_managed_agents_page_of_events() -> None:
    row = only_row("anthropic-managed-agents/events-page.json")
    assert told(row) == [("user", "Hi"), ("text", "Hello")]


@pytest.mark.parametrize("name", ["gemini-cli/session.json", "gemini-cli/session.jsonl"])
def test_gemini_cli_in_both_forms(name: str) -> None:
    row = only_row(name)
    assert told(row) == [
        ("user", "List files."),
        ("ls", {"dir": "."}, "a.py"),
        ("rm", {}, DENIED),
        ("text", "One file."),
    ]
    assert (row["conversation_id"], row["model"]) == ("g-1", "m-14")


def test_copilot_cli_tells_a_requested_call_from_one_it_only_ran() -> None:
    row = only_row("copilot-cli/events.jsonl")
    assert told(row) == [
        ("user", "Show the date."),
        ("text", "Sure."),
        ("bash", {"command": "date"}, DENIED),
        ("text", "I may not."),
        ("view", {"path": "a"}, "x"),
    ]


def test_cursor_transcript_takes_the_user_query_out_of_the_context() -> None:
    row = only_row("cursor/transcript.jsonl")
    assert told(row) == [
        ("user", "What is here?"),
        ("text", "I look."),
        ("Bash", {"command": "ls"}, "a.py"),
        ("text", "One file."),
    ]
