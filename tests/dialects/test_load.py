"""load_traces: the spellings of a row, and what is never lost or changed."""

from __future__ import annotations

import copy
import gc
import json
import math
import threading
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core.dialects.load import RecordsLeftOut, load_traces
from whileai_core.dialects.normalise import as_row
from whileai_core.sources.collector import collector_paused

if TYPE_CHECKING:
    from pathlib import Path

CALL = {"tool": "f", "arguments": {"a": 1}, "result": "ok"}


def one(row: dict[str, Any]) -> dict[str, Any]:
    (loaded,) = load_traces([row])
    return loaded


def test_a_row_in_the_schema_stays_as_it_is() -> None:
    row = {"prompt": "p", "steps": [CALL, {"text": "t"}], "final_text": "f", "reward": 1, "x": [1]}
    loaded = one(row)
    assert loaded == row
    assert loaded is not row
    assert loaded["steps"] is not row["steps"]


@pytest.mark.parametrize("key", ["prompt", "question", "input", "task", "ask", "query"])
def test_spellings_of_the_ask(key: str) -> None:
    assert one({key: "why?", "n": 1})["prompt"] == "why?"


@pytest.mark.parametrize(
    "key", ["final_text", "final", "output", "response", "answer", "completion"]
)
def test_spellings_of_the_reply(key: str) -> None:
    assert one({"prompt": "p", key: "so"})["final_text"] == "so"


def test_the_first_spelling_wins() -> None:
    row = one({"input": "c", "question": "b", "output": "y", "final": "x", "prompt": ""})
    assert (row["prompt"], row["final_text"]) == ("b", "x")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"question": "Capital?"}, "Capital?"),
        ({"messages": [{"role": "user", "content": "hi"}]}, "hi"),
        ([{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}], "hi"),
        ([{"role": "user", "content": [{"type": "input_text", "text": "hi"}]}], "hi"),
        ({"role": "user", "content": "hi"}, "hi"),
        ({"input": {"query": "deep"}}, "deep"),
        (["a", "b"], "a\nb"),
        ({"city": "Linz"}, "Linz"),
        ({"a": 1, "b": [True]}, '{"a": 1, "b": [true]}'),
        (7, "7"),
    ],
)  # fmt: skip
def test_asks_that_are_no_text(value: object, text: str) -> None:
    assert one({"input": value})["prompt"] == text
    assert one({"prompt": value})["prompt"] == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"answer": "Valletta"}, "Valletta"),
        ({"choices": [{"message": {"role": "assistant", "content": "hi"}}]}, "hi"),
        ([{"type": "message", "role": "assistant", "content": "hi"}], "hi"),
        ({"role": "assistant", "content": [{"type": "text", "text": "hi"}]}, "hi"),
        ({"value": {"n": 1}}, '{"n": 1}'),
        (3.5, "3.5"),
    ],
)
def test_replies_that_are_no_text(value: object, text: str) -> None:
    assert one({"prompt": "p", "output": value})["final_text"] == text


def test_messages_in_ask_and_reply_become_steps() -> None:
    asked = [{"role": "user", "content": "go"}]
    answered = [
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": 1}'},
        {"type": "function_call_output", "call_id": "1", "output": "ok"},
        {"type": "message", "role": "assistant", "content": "done"},
    ]
    steps = [{"user": "go"}, CALL, {"text": "done"}]
    for output in (answered, asked + answered):
        row = one({"input": asked, "output": output})
        assert (row["prompt"], row["steps"], row["final_text"]) == ("go", steps, "done")


@pytest.mark.parametrize("told_twice", [False, True])
def test_the_reply_beside_the_messages_of_a_request_is_a_step_once(told_twice: bool) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = {"role": "assistant", "content": "Looking.", "tool_calls": [call]}
    messages = [{"role": "user", "content": "Weather?"}] + [said] * told_twice
    record = {"model": "m", "messages": messages, "response": {"choices": [{"message": said}]}}
    [row] = load_traces([record])
    assert row["steps"] == [
        {"user": "Weather?"},
        {"text": "Looking."},
        {"tool": "look", "arguments": {}},
    ]
    assert row["final_text"] == "Looking."


def test_a_blank_prompt_gives_way_to_the_messages() -> None:
    chat = [{"role": "user", "content": "hi"}]
    assert one({"prompt": "  ", "messages": chat})["prompt"] == "hi"
    assert one({"prompt": "  "})["prompt"] == "  "


@pytest.mark.parametrize("key", ["messages", "conversations", "contents", "history", "trajectory"])
def test_conversations_under_other_names(key: str) -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    for value in (chat, json.dumps(chat), {"messages": chat}):
        row = one({key: value})
        assert row["steps"] == [{"user": "hi"}, {"text": "ho"}]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"tool": "f", "input": {"a": 1}, "output": "ok"}, CALL),
        ({"tool": "f", "args": {"a": 1}, "response": "ok"}, CALL),
        ({"tool": "f", "parameters": {"a": 1}, "result": "ok"}, CALL),
        ({"tool": "f", "tool_input": {"a": 1}, "observation": "ok"}, CALL),
        ({"tool": "f", "arguments": '{"a": 1}', "result": "ok"}, CALL),
        ({"name": "f", "arguments": {"a": 1}, "result": "ok"}, CALL),
        (CALL | {"input": 2, "output": 3}, CALL | {"input": 2, "output": 3}),
        ({"name": "Ann"}, {"name": "Ann"}),
    ],
)  # fmt: skip
def test_spellings_of_a_step(step: dict[str, Any], expected: dict[str, Any]) -> None:
    for key in ("steps", "tool_trace", "trace"):
        for steps in ([step], json.dumps([step])):
            assert one({"prompt": "p", key: steps})["steps"] == [expected]


def test_messages_in_place_of_steps() -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    assert one({"steps": chat})["steps"] == [{"user": "hi"}, {"text": "ho"}]


@pytest.mark.parametrize(
    ("reward", "label"),
    [(True, 1), (False, 0), (1.0, 1), (" 0 ", 0), ("0.0", 0), ("1", 1), (-0.0, 0)],
)
def test_clean_rewards_are_labels(reward: object, label: int) -> None:
    row = one({"prompt": "p", "reward": reward})
    assert row["reward"] == label
    assert type(row["reward"]) is int
    assert "scores" not in row


@pytest.mark.parametrize("reward", [None, "pass", math.nan, math.inf, [], {}, "true", 10**400])
def test_what_is_no_number_is_no_reward(reward: object) -> None:
    row = one({"prompt": "p", "reward": reward})
    assert "reward" not in row
    assert "scores" not in row


def test_other_scores_are_not_lost() -> None:
    given = {"prompt": "p", "reward": 0.7, "scores": {"style": 1}}
    assert one(given)["scores"] == {"reward": 0.7, "style": 1}
    assert given["scores"] == {"style": 1}
    assert "reward" not in one(given)


def test_the_schema_keys_are_strict_json_and_others_ride_along() -> None:
    odd = {"p": math.nan, "s": "\ud800"}
    row = one(
        {"prompt": "a\udfff", "steps": [{"tool": "f", "arguments": {}, "result": odd}], "x": odd}
    )
    assert row["prompt"] == "a\ufffd"
    assert row["steps"][0]["result"] == {"p": None, "s": "\ufffd"}
    assert row["x"] is odd
    (read,) = load_traces(b'{"prompt": "b", "steps": [{"user": "\\ud800", "n": NaN}], "y": NaN}')
    assert read["steps"] == [{"user": "\ufffd", "n": None}]
    assert math.isnan(read["y"])


def test_big_integers_stay_whole() -> None:
    (row,) = load_traces(
        b'{"prompt": "p", "final_text": "f", "steps": [], "id": 98765432109876543210}'
    )
    assert row["id"] == 98765432109876543210
    text = b'{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "tool_calls": '
    text += b'[{"id": "1", "function": {"name": "f", '
    text += b'"arguments": "{\\"id\\": 98765432109876543210}"}}], '
    (row,) = load_traces(text + b'"content": ""}]}\n')
    assert row["steps"][1]["arguments"] == {"id": 98765432109876543210}


@pytest.mark.parametrize("gap", ["", " ", "\n", "\t"])
def test_big_integers_in_arguments_stay_whole(gap: str) -> None:
    number = 98765432109876543210
    function = {"name": "f", "arguments": f'{{"id":{gap}{number}}}'}
    calls = [{"id": "1", "type": "function", "function": function}]
    messages: list[Any] = [{"role": "user", "content": "hi"}]
    messages.append({"role": "assistant", "content": None, "tool_calls": calls})
    (row,) = load_traces(json.dumps({"messages": messages}))
    assert row["steps"][1]["arguments"] == {"id": number}


def test_deep_nesting_in_memory_is_kept() -> None:
    value: Any = "leaf"
    for _ in range(5000):
        value = {"child": value}
    row = one({"prompt": "p", "steps": [{"tool": "f", "arguments": {}, "result": value}]})
    assert row["steps"][0]["result"] is value


def test_what_is_too_deep_to_read_is_left_out_alone() -> None:
    deep: Any = "leaf"
    for _ in range(100_000):
        deep = {"child": deep}
    endless: list[Any] = []
    endless.append(endless)
    twice = [
        {"role": "tool", "tool_call_id": "1", "content": copy} for copy in (deep, {"child": deep})
    ]
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f"}}]}
    with pytest.warns(RecordsLeftOut, match="too_deep"):
        rows = load_traces(
            [
                {"prompt": "a", "output": deep},
                {"prompt": "b", "steps": [{"tool": "f", "arguments": {}, "result": endless}]},
                {"messages": [{"role": "user", "content": "c"}, call, *twice]},
                {"prompt": deep},
                {"prompt": "z"},
            ]
        )
    assert rows[-1]["prompt"] == "z"


@pytest.mark.parametrize("source", [None, 5, 1.5, object()])
def test_what_holds_no_records_is_a_type_error(source: object) -> None:
    with pytest.raises(TypeError):
        load_traces(source)


def test_one_warning_a_source_names_place_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\noops\n{"x": 1}\n')
    with pytest.warns(RecordsLeftOut, match=r"rows\.jsonl: 2 record.*line 2: not_json") as caught:
        assert len(load_traces(path)) == 1
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_a_list_of_messages_is_one_conversation() -> None:
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    (row,) = load_traces(chat)
    assert row["steps"] == [{"user": "hi"}, {"text": "ho"}]
    assert load_traces("\n".join(map(json.dumps, chat)).encode()) == [row]


def test_messages_that_name_their_conversation_are_grouped() -> None:
    lines = [
        {"session_id": name, "role": role, "content": f"{role} {name}"}
        for role in ("user", "assistant")
        for name in ("x", "y")
    ]
    rows = load_traces("\n".join(map(json.dumps, lines)))
    assert [(row["conversation_id"], row["prompt"], row["final_text"]) for row in rows] == [
        ("x", "user x", "assistant x"),
        ("y", "user y", "assistant y"),
    ]


def test_the_collector_is_left_as_it_was() -> None:
    assert gc.isenabled()
    load_traces([{"prompt": "p"}])
    assert gc.isenabled()
    gc.disable()
    try:
        load_traces([{"prompt": "p"}])
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_the_collector_stays_paused_while_any_thread_needs_it() -> None:
    inside = threading.Event()
    leave = threading.Event()

    def build() -> None:
        with collector_paused():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=build)
    thread.start()
    inside.wait(60)
    with collector_paused():
        pass
    assert not gc.isenabled()
    leave.set()
    thread.join()
    assert gc.isenabled()


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=10,
)
keys = st.sampled_from(
    ["prompt", "question", "input", "steps", "tool_trace", "messages", "output", "final_text",
     "reward", "scores", "tool", "arguments", "result", "user", "text", "role", "content", "x"]
)  # fmt: skip
objects = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=6),
    max_leaves=15,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(keys, objects, max_size=6))
def test_any_object_gives_a_strict_row_or_none(item: dict[str, Any]) -> None:
    before = copy.deepcopy(item)
    row = as_row(item)
    assert repr(item) == repr(before)
    if row is None:
        return
    assert row["prompt"] or row["steps"]
    assert isinstance(row["prompt"], str)
    assert isinstance(row["final_text"], str)
    assert all(isinstance(step, dict) for step in row["steps"])
    schema = [row["prompt"], row["steps"], row["final_text"]]
    json.dumps(schema, allow_nan=False, ensure_ascii=False).encode("utf-8")
    assert row.get("reward", 0) in (0, 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.dictionaries(keys, objects, max_size=4), max_size=6))
def test_the_order_of_records_does_not_change_them(items: list[dict[str, Any]]) -> None:
    source: list[Any] = [{"prompt": "first", "final_text": "x"}, *items]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forwards = load_traces(source)
        backwards = load_traces([source[0], *source[:0:-1]])
    assert sorted(map(repr, forwards)) == sorted(map(repr, backwards))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=3), anything, max_size=3), max_size=5))
def test_memory_and_file_give_the_same_rows(extras: list[dict[str, Any]]) -> None:
    rows = [{**extra, "prompt": "p", "final_text": "f"} for extra in extras]
    text = "\n".join(json.dumps(row) for row in rows)
    from_text = load_traces(text.encode()) if rows else []
    assert repr(from_text) == repr(load_traces(rows))


def test_an_instruction_record_asks_with_the_instruction_and_what_it_is_about() -> None:
    [row] = load_traces([{"instruction": "Sum the numbers.", "input": "1 2 3", "output": "6"}])
    assert (row["prompt"], row["final_text"]) == ("Sum the numbers.\n1 2 3", "6")
    [row] = load_traces([{"instruction": "Say hello.", "input": "", "output": "Hello."}])
    assert row["prompt"] == "Say hello."
