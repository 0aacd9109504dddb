"""What people export from chat apps and APIs: trees, pages, batches, and what graders said."""

from __future__ import annotations

import json
from typing import Any

import pytest
from record_cases import DATA, only_row, rows_of, told

from whileai_core.dialects.load import RecordsLeftOut, load_traces
from whileai_core.dialects.messages import is_message
from whileai_core.dialects.registry import record_dialect

ASK = "How tall is Mont Ventoux?"
MONT_VENTOUX = [
    ("user", ASK),
    ("lookup", {"peak": "Mont Ventoux"}, {"metres": 1910}),
    ("text", "1910 metres."),
]
SAID = {"role": "user", "content": "Hi?"}
REPLIED = {"role": "assistant", "content": "Hello."}
GREETING = [("user", "Hi?"), ("text", "Hello.")]


@pytest.mark.parametrize(
    "name",
    [
        "autogen/result.json",
        "flowise/messages.json",
        "openai-api/thread-page.json",
        "openai-api/thread.jsonl",
        "openai-api/items-page.json",
    ],
)
def test_one_conversation_is_one_row(name: str) -> None:
    row = only_row(name)
    assert told(row) == MONT_VENTOUX
    assert (row["prompt"], row["final_text"]) == (ASK, "1910 metres.")
    assert row["dialect"] == name.partition("/")[0]
    if "items" not in name and "flowise" not in name:
        assert row["usage"] == {"input_tokens": 30, "output_tokens": 9}


def test_chatgpt_reads_the_branch_the_user_saw_last() -> None:
    row, short = rows_of("chatgpt/conversations.json")
    assert told(row) == [*MONT_VENTOUX, ("user", "Thanks"), ("text", "You are welcome.")]
    assert (row["conversation_id"], row["title"], row["model"]) == ("chat-7", "Peaks", "m-1")
    assert row["ts"] == 1_772_359_200_000_000_000
    assert told(short) == GREETING


def test_a_pair_is_the_preferred_reply_and_no_reward() -> None:
    rows = rows_of("preferences/pairs.jsonl")
    assert len(rows) == 8
    for row in rows:
        assert told(row) == GREETING
        assert "reward" not in row
    assert rows[0]["rejected"] == "No."
    assert rows[1]["scores"] == {"chosen": 8, "rejected": 2.5}
    assert rows[4]["system"] == "Be brief."


def test_a_verdict_on_a_reply_is_its_reward() -> None:
    good, bad = rows_of("preferences/verdicts.jsonl")
    assert (told(good), good["reward"], good["reward_source"]) == (GREETING, 1, "label")
    assert (told(bad)[-1], bad["reward"]) == (("text", "No."), 0)


def test_labels_that_are_no_verdicts_are_no_reward() -> None:
    (row,) = load_traces([{"prompt": "Hi?", "completion": "Hello.", "label": "greeting"}])
    assert "reward" not in row


def test_requests_and_results_of_a_batch_meet_by_their_id() -> None:
    asked, greeted, lost = rows_of("openai-batch/both.jsonl")
    assert told(asked) == [("user", ASK), ("text", "1910 metres.")]
    assert told(greeted) == GREETING
    assert {asked["system"], greeted["system"]} == {"Be brief."}
    assert (asked["model"], asked["usage"]) == ("m-1", {"input_tokens": 30, "output_tokens": 9})
    assert (lost["prompt"], lost["error"]["code"]) == ("Lost?", "batch_expired")
    (reply,) = rows_of("openai-batch/results.jsonl")
    assert (reply["prompt"], reply["final_text"]) == ("", "1910 metres.")


def test_anthropic_batches_alike() -> None:
    with pytest.warns(RecordsLeftOut, match="request r2 came to nothing"):
        row = only_row("anthropic-batch/both.jsonl")
    assert told(row) == [("user", ASK), ("text", "1910 metres.")]
    assert (row["custom_id"], row["system"], row["model"]) == ("r1", "Be brief.", "m-1")
    assert only_row("anthropic-batch/creation.json")["prompt"] == ASK


def test_evals_samples_are_graded_by_their_matches() -> None:
    right, wrong = rows_of("openai-evals/run.jsonl")
    assert told(right) == [("user", ASK), ("text", "1910 metres.")]
    assert (right["reward"], right["reward_source"], right["model"]) == (1, "correct", "m-1")
    assert (wrong["prompt"], wrong["reward"]) == ("Hi?", 0)
    assert wrong["scores"] == {"accuracy": 0, "f1": 0.25}


def test_a_page_in_order_stays_in_order() -> None:
    page = json.loads((DATA / "openai-api/items-page.json").read_bytes())
    page["data"].reverse()
    (row,) = load_traces([page])
    assert told(row) == MONT_VENTOUX


@pytest.mark.parametrize(
    "record",
    [
        {"chosen": "m-1", "rejected": ["m-2"], "messages": [SAID, REPLIED]},
        {"chat_history": [REPLIED, SAID], "cost": 0.1, "summary": "short"},
    ],
    ids=["a choice of models", "a log with a summary"],
)
def test_words_alike_in_other_records_claim_nothing(record: dict[str, Any]) -> None:
    assert record_dialect(record) is None


def test_people_with_roles_are_no_messages() -> None:
    assert not is_message({"role": "customer", "items": [{"sku": 1}]})


def test_items_of_an_evals_run_are_graded() -> None:
    good, bad = rows_of("openai-evals/items.json")
    assert told(good) == told(bad) == [("user", ASK), ("text", "1910 metres.")]
    assert (good["reward"], bad["reward"], good["reward_source"]) == (1, 0, "status")
    assert (good["scores"], good["system"]) == ({"tone": 0.5}, "Be brief.")
