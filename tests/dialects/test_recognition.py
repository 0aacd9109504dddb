"""Conversations that lie inside something: pages, states, wrappers, files with a head."""

from __future__ import annotations

import json
from typing import Any

import pytest

from whileai_core.dialects.load import load_traces
from whileai_core.dialects.reading import RowItem, read_items
from whileai_core.sources.items import Ignored, Reject

ASK = {"role": "user", "content": "Hi?"}
SAY = {"role": "assistant", "content": "Hello."}
STEPS = [{"user": "Hi?"}, {"text": "Hello."}]


def lines(*records: Any) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


@pytest.mark.parametrize(
    "state",
    [
        {"chat_message_store_state": {"messages": [ASK, SAY]}},
        {"storeState": {"messages": [ASK, SAY]}},
        {"agent": {"state": {"memory": [{"x": 1}, {"log": [ASK, SAY]}]}}},
        {"chat": {"title": "t", "messages": [ASK, SAY]}, "user_id": "u"},
        {"agents": [{"id": "a", "messages": [ASK, SAY]}], "tools": []},
        {"team": {"thread": [ASK, SAY], "agents": {"a": {"context": {"messages": [ASK, SAY]}}}}},
        {"object": "list", "data": [{"messages": [ASK, SAY]}], "has_more": False},
        {"data": {"conversations": [{"messages": [ASK, SAY]}]}},
        {"took": 1, "hits": {"hits": [{"_id": "1", "_source": {"messages": [ASK, SAY]}}]}},
        {"timestamp": 1, "message": json.dumps({"messages": [ASK, SAY]})},
        {"severity": "INFO", "jsonPayload": {"request": {"messages": [ASK]}, "response": SAY}},
    ],
)
def test_a_conversation_inside_a_state_or_page_is_read_once(state: dict[str, Any]) -> None:
    (row,) = load_traces([state])
    assert row["steps"] == STEPS


def test_a_store_of_conversations_gives_each_under_its_own_key() -> None:
    store = {"store": {"ann": [ASK, SAY], "bob": [ASK, SAY, ASK, SAY]}, "class_name": "ChatStore"}
    assert [(row["conversation_id"], len(row["steps"])) for row in load_traces([store])] == [
        ("ann", 2),
        ("bob", 4),
    ]


def test_conversations_in_one_list_stay_apart() -> None:
    record = {"conversations": [{"id": 1, "messages": [ASK, SAY]}, {"messages": [ASK, SAY]}]}
    assert [row["steps"] for row in load_traces([record])] == [STEPS, STEPS]


@pytest.mark.parametrize(
    "record",
    [
        {"config": {"left": [ASK, SAY], "right": [ASK, SAY], "n": 1}},
        {"config": {"messages": [ASK]}},
        {"config": {"messages": [SAY]}},
        {"config": {"tools": [{"type": "function", "name": "f"}]}},
        {"data": [{"name": "ann", "role": "user"}]},
        {"items": [1, 2]},
    ],
    ids=["two views", "asks alone", "replies alone", "tools", "people", "numbers"],
)
def test_what_is_no_conversation_stays_refused(record: dict[str, Any]) -> None:
    (item,) = read_items([record])
    assert isinstance(item, Reject)
    assert item.reason == "no_signal"


def test_a_page_keeps_what_of_it_cannot_be_read() -> None:
    page = {"data": [{"question": "Hi?"}, {"nothing": 1}]}
    row, reject = read_items([page])
    assert isinstance(row, RowItem)
    assert isinstance(reject, Reject)


def test_lines_that_wrap_one_message_each_are_one_conversation() -> None:
    (row,) = load_traces(lines({"message": ASK, "n": 0}, {"message": SAY, "n": 1}))
    assert row["steps"] == STEPS


def test_wrapped_messages_are_told_apart_by_their_conversation() -> None:
    rows = load_traces(
        lines(*({"message": m, "session_id": s} for s in ("a", "b") for m in (ASK, SAY)))
    )
    assert [(row["conversation_id"], row["steps"]) for row in rows] == [("a", STEPS), ("b", STEPS)]


def test_many_wrapped_replies_are_not_one_conversation() -> None:
    assert len(load_traces(lines({"message": SAY}, {"message": SAY}))) == 2


def test_a_head_about_the_messages_below_is_passed_over() -> None:
    for messages in ([ASK, SAY], [{"message": ASK}, {"message": SAY}]):
        head = {"id": "s-1", "working_dir": "/x", "total_tokens": 12}
        ignored, item = read_items(lines(head, *messages))
        assert isinstance(ignored, Ignored)
        assert isinstance(item, RowItem)
        assert item.row["steps"] == STEPS


REQUEST = {"model": "m", "messages": [ASK]}
REPLY = {"choices": [{"message": SAY}], "usage": {}}


@pytest.mark.parametrize(
    "record",
    [
        {"request": REQUEST, "response": REPLY},
        {"request": json.dumps(REQUEST), "response": json.dumps(REPLY)},
        {"request_body": REQUEST, "response_body": REPLY},
        {"messages": json.dumps([ASK]), "response": json.dumps(REPLY), "spend": 0.1},
        {"full_request": {"contents": [ASK]}, "full_response": {"candidates": [{"content": SAY}]}},
        {"modelInput": REQUEST, "modelOutput": SAY, "recordId": "1"},
        {"responses_create_params": {"input": [ASK]}, "response": {"output": [SAY]}},
        {"prompt": [ASK], "completion": [SAY], "answer": "the reference", "info": {}},
    ],
)
def test_request_and_reply_are_one_conversation(record: dict[str, Any]) -> None:
    (row,) = load_traces([record])
    assert (row["prompt"], row["steps"], row["final_text"]) == ("Hi?", STEPS, "Hello.")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1}', '["x"]', '{"role": "admin"}', '{"choices": 2}', '[{"role": 5}]', "{not json"],
)
def test_json_that_is_no_message_stays_text(text: str) -> None:
    (row,) = load_traces([{"prompt": text, "output": text}])
    assert (row["prompt"], row["final_text"]) == (text, text)
