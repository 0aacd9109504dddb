"""Results find their calls, also where producers are careless with ids."""

from __future__ import annotations

from typing import Any

import pytest

from whileai_core import load_traces


def calls(*made: tuple[Any, str, dict[str, Any]]) -> dict[str, Any]:
    entries = [
        {"id": identity, "function": {"name": name, "arguments": arguments}}
        for identity, name, arguments in made
    ]
    return {"role": "assistant", "content": None, "tool_calls": entries}


def answer(identity: Any, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "content": content, **more}


def tools_of(*messages: dict[str, Any]) -> list[tuple[Any, ...]]:
    (row,) = load_traces([{"messages": [{"role": "user", "content": "go"}, *messages]}])
    steps = [step for step in row["steps"] if "tool" in step]
    return [(step["tool"], step["arguments"], step.get("result", "open")) for step in steps]


LOOKS = (("c", "look", {"p": "A"}), ("c", "look", {"p": "B"}))


def test_parallel_calls_under_one_id_are_answered_in_their_order() -> None:
    assert tools_of(calls(*LOOKS), answer("c", "10"), answer("c", "20")) == [
        ("look", {"p": "A"}, 10),
        ("look", {"p": "B"}, 20),
    ]


def test_calls_under_one_id_are_told_apart_by_their_tools() -> None:
    both = calls(("0", "rate", {}), ("0", "fee", {}))
    assert tools_of(both, answer("0", "1", name="fee"), answer("0", "2", name="rate")) == [
        ("rate", {}, 2),
        ("fee", {}, 1),
    ]


def test_a_result_delivered_again_answers_no_call_of_another_id() -> None:
    both = calls(*LOOKS, ("d", "look", {"p": "C"}))
    results = [answer("c", "10"), answer("c", "20"), answer("c", "20")]
    assert [result for *_, result in tools_of(both, *results)] == [10, 20, "open"]


def test_a_result_before_its_call_is_that_calls_result() -> None:
    made = calls(("a", "look", {"p": "A"}), ("b", "look", {"p": "B"}))
    assert tools_of(answer("b", "20"), made, answer("a", "10")) == [
        ("look", {"p": "B"}, 20),
        ("look", {"p": "A"}, 10),
    ]


@pytest.mark.parametrize("shape", ["tool message", "tool_result block"])
@pytest.mark.parametrize(
    ("content", "failed", "result"),
    [
        (None, False, ""),
        ([], False, ""),
        ("null", False, None),
        (None, True, {"error": "", "status": "error"}),
        ("[1,2]", True, {"error": "[1,2]", "status": "error"}),
    ],
)
def test_an_answer_without_words_is_an_answer(
    shape: str, content: Any, failed: bool, result: Any
) -> None:
    message = answer("a", content, is_error=failed)
    if shape == "tool_result block":
        block = {"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": failed}
        message = {"role": "user", "content": [block]}
    assert tools_of(calls(("a", "f", {})), message) == [("f", {}, result)]
