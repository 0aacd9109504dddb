"""Rows as tables and clients hold them in memory: gaps, null-filled structs, arrays, objects."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from whileai_core import load_traces

NAN = float("nan")
ASK = {"role": "user", "content": "go"}
REPLY = {"role": "assistant", "content": "done"}


class Message(BaseModel):
    role: str
    content: str


@dataclasses.dataclass
class Plain:
    role: str
    content: str


def test_gaps_say_nothing() -> None:
    (row,) = load_traces(
        [{"prompt": NAN, "steps": NAN, "final_text": NAN, "reward": NAN, "messages": [ASK, REPLY]}]
    )
    assert (row["prompt"], row["final_text"]) == ("go", "done")
    assert "reward" not in row


@pytest.mark.parametrize("prompt", [{}, {"prompt": "go", "final_text": "done"}])
def test_null_filled_steps_are_the_steps_they_were(prompt: dict[str, Any]) -> None:
    empty = dict.fromkeys(("user", "tool", "arguments", "result", "text"))
    steps = [
        {**empty, "tool": "f", "arguments": {"a": 1}, "result": "ok"},
        {**empty, "user": "go"},
        {**empty, "text": "done"},
    ]
    (row,) = load_traces([{**prompt, "steps": steps}])
    assert row["steps"] == [
        {"tool": "f", "arguments": {"a": 1}, "result": "ok"},
        {"user": "go"},
        {"text": "done"},
    ]
    assert (row["prompt"], row["final_text"]) == ("go", "done")


def test_a_column_that_is_null_all_along() -> None:
    steps = [{"tool": "f", "arguments": {}, "result": None, "text": None}]
    (row,) = load_traces([{"prompt": "go", "steps": steps, "final_text": "done"}])
    assert row["steps"] == [{"tool": "f", "arguments": {}, "result": None}]


@pytest.mark.parametrize(
    "messages",
    [
        np.array([ASK, REPLY], dtype=object),
        [Message(**ASK), REPLY],
        [ASK, Plain(**REPLY)],
    ],
    ids=["array", "models", "dataclasses"],
)
def test_messages_in_arrays_and_objects(messages: Any) -> None:
    (row,) = load_traces([{"messages": messages}])
    assert row["steps"] == [{"user": "go"}, {"text": "done"}]


def test_numbers_of_arrays_are_numbers() -> None:
    arguments = {"x": np.float32(1.5), "all": np.array([1, 2]), "n": np.int64(3)}
    step = {"tool": "f", "arguments": arguments, "result": np.bool_(True)}
    (row,) = load_traces([{"prompt": "go", "steps": [step], "reward": np.int64(1)}])
    assert row["steps"] == [
        {"tool": "f", "arguments": {"x": 1.5, "all": [1, 2], "n": 3}, "result": True}
    ]
    assert row["reward"] == 1


def test_lines_of_text_are_records() -> None:
    lines = ['{"prompt": "a"}', b'{"prompt": "b"}', '[{"prompt": "c"}]']
    assert [row["prompt"] for row in load_traces(lines)] == ["a", "b", "c"]
    assert (
        load_traces(b'"{\\"prompt\\": \\"a\\"}"\n"{\\"prompt\\": \\"b\\"}"\n')[1]["prompt"] == "b"
    )
