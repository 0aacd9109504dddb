"""Evaluation harnesses: their labels become rewards, their ids ride along."""

from __future__ import annotations

from record_cases import error, only_row, rows_of, told


def test_inspect_log_gives_a_row_per_sample_graded_by_its_first_clean_score() -> None:
    right, wrong = rows_of("inspect/log.json")
    assert told(right) == [
        ("user", "What is six times seven?"),
        ("text", "Let me run it."),
        ("bash", {"cmd": "false"}, error("took too long")),
        ("text", "42"),
    ]
    assert (right["reward"], right["reward_source"]) == (1, "exact")
    assert right["scores"] == {"style": 0.4, "parts.fluency": 0.5}
    assert right["usage"] == {"input_tokens": 50, "output_tokens": 6}
    assert (wrong["prompt"], wrong["final_text"], wrong["reward"]) == ("Wrong?", "Perhaps.", 0)


def test_inspect_headers_and_summaries_are_no_conversations() -> None:
    assert [row["sample_id"] for row in rows_of("inspect/members.jsonl")] == ["s1"]


def test_tau_bench_trajectory() -> None:
    row = only_row("tau-bench/trajectories.json")
    assert told(row)[1] == ("cancel", {"id": "T1"}, {"status": "cancelled"})
    assert (row["task_id"], row["trial"], row["reward"]) == (3, 0, 1)
    assert row["system"] == "Policy."


def test_tau2_leaves_out_what_the_simulated_user_does_itself() -> None:
    row = only_row("tau-bench/tau2-results.json")
    assert told(row) == [
        ("text", "Hi! How can I help?"),
        ("user", "No signal."),
        ("get_line", {"line": "L1"}, error("Line not found")),
        ("text", "I could not find it."),
    ]
    assert (row["reward"], row["reward_source"]) == (0, "reward_info.reward")
    assert row["scores"] == {"db": 0, "communicate": 1}
    assert row["system"] == "Be kind."


def test_swe_agent_text_mode_reads_actions_as_calls_and_skips_the_demonstration() -> None:
    row = only_row("swe-agent/text-mode.json")
    assert told(row) == [
        ("user", "Fix the typo."),
        ("text", "I look."),
        ("open", {"command": "open a.py 1"}, "[File: a.py]"),
        ("text", "Run."),
        ("bash", {"command": "python a.py"}, "ok"),
    ]
    assert row["usage"] == {"input_tokens": 100, "output_tokens": 7}


def test_swe_agent_steps_without_a_history() -> None:
    row = only_row("swe-agent/steps-only.json")
    assert row["prompt"] == "Fix it."
    assert [step["tool"] for step in row["steps"] if "tool" in step] == ["bash", "submit"]


def test_swe_agent_dataset_rows_are_graded_by_their_outcome() -> None:
    rows = rows_of("swe-agent/dataset.jsonl")
    assert [(r["prompt"], r["final_text"], r["reward"]) for r in rows] == [
        ("Fix it.", "Fixed.", 1),
        ("Fix that.", "No.", 0),
    ]


def test_mini_swe_agent_commands_in_text() -> None:
    row = only_row("mini-swe-agent/format-1.json")
    command, said, last = told(row)[2:]
    assert command[:2] == ("bash", {"command": "cat missing.py"})
    assert command[2]["returncode"] == 1
    assert "no such file" in command[2]["output"]
    assert said == ("text", "Done")
    assert last == ("bash", {"command": "echo COMPLETE"}, "diff")


def test_mini_swe_agent_tool_calls() -> None:
    row = only_row("mini-swe-agent/format-1.1.json")
    assert told(row)[1:3] == [
        ("text", "Looking."),
        ("bash", {"command": "ls"}, "<returncode>0</returncode>\n<output>a.py</output>"),
    ]
    assert row["exit_status"] == "Submitted"


OPENHANDS = [
    ("user", "Count the files."),
    ("text", "I list them."),
    ("execute_bash", {"command": "ls nope"}, {"exit_code": 2, "output": "no such file"}),
    ("read", {"path": "/a"}, "alpha"),
    ("text", "One file."),
    ("finish", {"final_thought": "One file.", "outputs": {}}, "no result"),
]


def test_openhands_event_list() -> None:
    row = only_row("openhands/trajectory.json")
    assert told(row) == OPENHANDS
    assert row["system"] == "You are an agent."


def test_openhands_evaluation_output_takes_the_ask_from_the_instruction() -> None:
    row = only_row("openhands/output.jsonl")
    assert told(row) == OPENHANDS
    assert (row["reward"], row["reward_source"]) == (1, "test_result.report.resolved")
    assert row["instance_id"] == "i-1"


def test_openhands_sdk_events() -> None:
    row = only_row("openhands/sdk-events.jsonl")
    assert told(row) == [
        ("user", "Say hi in a file."),
        ("text", "I write."),
        ("terminal", {"command": "echo hi > f"}, "written"),
        ("text", "Written."),
    ]


def test_toolbench_takes_the_longest_messages_and_the_answer_out_of_the_closing_call() -> None:
    row = only_row("toolbench/answer.json")
    assert [step.get("tool") for step in row["steps"]] == [None, "quote", "Finish", None]
    assert (row["prompt"], row["final_text"]) == ("Find a quote.", "Carpe diem.")
    assert row["reward"] == 1


def test_toolbench_attempt_without_messages() -> None:
    row = only_row("toolbench/chain.json")
    assert told(row) == [
        ("user", "Find a quote."),
        ("text", "I try."),
        ("quote", {"n": 1}, {"error": "down"}),
    ]
    assert row["reward"] == 0


def test_toolbench_evaluation_form() -> None:
    row = only_row("toolbench/tooleval.json")
    assert told(row)[1] == ("quote", {"n": 1}, "Carpe diem")
    assert row["final_text"] == "Carpe diem."
    assert "reward" not in row


def test_agentdojo_utility_is_the_reward_and_security_a_score() -> None:
    row = only_row("agentdojo/run.json")
    assert told(row) == [
        ("user", "Pay the bill."),
        ("read_file", {"path": "bill.txt"}, error("ValueError: no such file")),
        ("text", "There is no bill."),
    ]
    assert (row["reward"], row["scores"]) == (0, {"security": 1})
    assert row["user_task_id"] == "user_task_0"


def test_atif_embedded_sub_agents_are_kept_apart() -> None:
    main = only_row("atif/trajectory.json")
    (sub,) = main["subagents"]
    assert told(main) == [
        ("user", "List it."),
        ("sh", {"cmd": "ls"}, "a.txt"),
        ("delegate", {}, [{"trajectory_id": "sub"}]),
        ("text", "One file."),
    ]
    assert (main["conversation_id"], sub["conversation_id"]) == ("main", "sub")
    assert (main["agent"], main["model"], main["system"]) == ("agent-x", "m-8", "Rules.")
    assert sub["prompt"] == "Sub-task."


def test_adk_eval_set_in_camel_case() -> None:
    row = only_row("google-adk/evalset.json")
    assert told(row) == [
        ("user", "Lights off."),
        ("set", {"on": False}, {"ok": True}),
        ("text", "One moment."),
        ("text", "They are off."),
    ]
    assert row["eval_id"] == "case-1"


def test_adk_old_turn_list_is_one_conversation() -> None:
    row = only_row("google-adk/old-turns.test.json")
    assert told(row) == [
        ("user", "Roll a die."),
        ("roll", {"sides": 6}, "no result"),
        ("text", "You rolled 4."),
        ("user", "Again."),
        ("text", "You rolled 2."),
    ]


def test_adk_old_eval_set() -> None:
    assert only_row("google-adk/old-evalset.json")["final_text"] == "Hello."


def test_adk_session_skips_pieces_of_streamed_replies() -> None:
    row = only_row("google-adk/session.json")
    assert told(row) == [
        ("user", "Weather?"),
        ("wx", {"q": "x"}, {"sun": 1}),
        ("text", "Sunny."),
    ]
    assert row["conversation_id"] == "sess-1"


def test_adk_eval_result_is_graded_by_its_status() -> None:
    row = only_row("google-adk/result.json")
    assert (row["prompt"], row["reward"]) == ("Hi", 1)
    assert row["reward_source"] == "final_eval_status"
