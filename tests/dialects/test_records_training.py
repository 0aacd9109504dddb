"""Data sets and rollouts of trainers, and stores of chat platforms."""

from __future__ import annotations

import pytest
from record_cases import only_row, rows_of, told

from whileai_core.dialects.load import load_traces

ASK = "How tall is Mont Ventoux?"
DONE = "1910 metres."
CALL = ("lookup", {"peak": "Mont Ventoux"}, {"metres": 1910})
MONT_VENTOUX = [("user", ASK), CALL, ("text", DONE)]


@pytest.mark.parametrize("name", ["chat-template/texts.jsonl", "rllm/episodes.jsonl"])
def test_every_record_is_the_same_conversation(name: str) -> None:
    rows = rows_of(name)
    assert len(rows) == 2
    assert [told(row) for row in rows] == [MONT_VENTOUX] * 2


def test_templates_are_taken_apart() -> None:
    rows = rows_of("chat-template/short.jsonl")
    assert [told(row) for row in rows] == [[("user", "Hi?"), ("text", "Hello.")]] * 4
    assert [row.get("system") for row in rows] == ["Be brief.", None, "Be brief.", None]


@pytest.mark.parametrize(
    "prompt",
    [
        "Explain <|im_start|>user\nhi<|im_end|> to me",
        "What is [INST] x [/INST]?",
        "<|im_start|> is a token",
        "system\nx\nuser\ny",
    ],
)
def test_marks_that_are_talked_about_stay_words(prompt: str) -> None:
    (row,) = load_traces([{"prompt": prompt, "response": "So."}])
    assert (row["prompt"], row["steps"], row["final_text"]) == (prompt, [], "So.")


def test_rollouts_are_graded_by_their_score() -> None:
    good, odd = rows_of("chat-template/rollouts.jsonl")
    assert told(good) == MONT_VENTOUX
    assert (good["reward"], good["reward_source"], good["step"]) == (1, "score", 3)
    assert told(odd) == [("user", ASK), ("text", DONE)]
    assert "reward" not in odd
    assert odd["scores"] == {"score": -0.5}


def test_queries_with_their_calls() -> None:
    one, two = rows_of("xlam/queries.json")
    assert told(one) == [("user", ASK), (*CALL[:2], "no result")]
    assert told(two)[1:] == [("a", {}, "no result"), ("b", {"n": 1}, "no result")]


def test_glaive_chats() -> None:
    row = only_row("glaive/chats.jsonl")
    assert told(row) == MONT_VENTOUX
    assert row["system"] == "Be brief."


def test_episodes_are_graded() -> None:
    episode, trajectory = rows_of("rllm/episodes.jsonl")
    assert (episode["reward"], episode["reward_source"]) == (1, "is_correct")
    assert episode["scores"] == {"reward": 0.5}
    assert (trajectory["reward"], trajectory["reward_source"]) == (1, "reward")


@pytest.mark.parametrize("name", ["agentcore-memory/page.json", "agentcore-memory/events.jsonl"])
def test_events_listed_newest_first_are_put_in_order(name: str) -> None:
    row = only_row(name)
    assert told(row) == [
        ("user", ASK),
        ("text", DONE),
        ("user", "And in feet?"),
        ("text", "6266 feet."),
    ]
    assert (row["conversation_id"], row["actor"]) == ("chat-7", "ann")


@pytest.mark.parametrize("name", ["dify/page.json", "dify/messages.jsonl"])
def test_dify_messages_of_a_conversation_are_one_row(name: str) -> None:
    row = only_row(name)
    assert told(row) == [*MONT_VENTOUX, ("user", "Thanks"), ("text", "Welcome.")]


def test_an_object_about_the_prompt_is_not_the_ask() -> None:
    row = {
        "prompt": {"id": "pr_1"},
        "messages": [{"role": "user", "content": "Hi?"}],
        "output": "Hello.",
    }
    (loaded,) = load_traces([row])
    assert (loaded["prompt"], loaded["final_text"]) == ("Hi?", "Hello.")


def test_actions_written_into_the_text_are_calls() -> None:
    fenced, tagged = rows_of("swe-agent/text-dataset.jsonl")
    for row, tools in ((fenced, ("bash", "submit")), (tagged, ("execute_bash", "submit"))):
        assert [step.get("tool") for step in row["steps"]] == [None, None, tools[0], None, tools[1]]
        assert row["steps"][2]["arguments"] == {"command": "ls -a"}
        assert row["steps"][2]["result"] == "a.py\n(Open file: n/a)"
        assert (row["prompt"], row["final_text"], row["system"]) == (
            "Fix it.",
            "Done.",
            "Be brief.",
        )
    assert (fenced["reward"], tagged["reward"]) == (1, 0)
    assert tagged["conversation_id"] == "t-4"
