"""Texts that are JSON by convention, and texts that only look like it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from span_kit import chat, messages, span, tool, tools, users

from whileai_core.dialects.otel import rows_from_otel


@pytest.mark.parametrize("cut", range(1, 70))
def test_messages_that_were_cut_off_never_show_as_the_ask(cut: int) -> None:
    whole = '[{"role":"user","content":"Compare \\"A\\" with B\\u00e9 in detail"}]'
    rows = rows_from_otel([chat(1, whole[:cut], "A is cheaper.")])
    assert rows[0]["final_text"] == "A is cheaper."
    assert 'Compare "A" with Bé in detail'.startswith(rows[0]["prompt"])


def test_plain_texts_stay_whole_even_in_brackets() -> None:
    [row] = rows_from_otel(
        [span(1, {"gen_ai.prompt": "[urgent] where is it?", "gen_ai.completion": "[1] In Leeds."})]
    )
    assert (row["prompt"], row["final_text"]) == ("[urgent] where is it?", "[1] In Leeds.")


def test_a_list_of_plain_texts_is_read_as_texts() -> None:
    [row] = rows_from_otel([span(1, {"gen_ai.prompt": ["hi"], "gen_ai.completion": '["a", "b"]'})])
    assert (row["prompt"], row["final_text"]) == ("hi", "b")


def test_a_structured_answer_is_the_reply_as_written() -> None:
    [row] = rows_from_otel([span(1, {"gen_ai.prompt": "q", "gen_ai.completion": '{"answer": 42}'})])
    assert row["final_text"] == '{"answer": 42}'


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ('{"id": 1}', {"id": 1}),
        (json.dumps('{"id": 1}'), {"id": 1}),
        ("", {}),
        ("not json", "not json"),
        ('{"broken', '{"broken'),
        ('{"x": NaN}', {"x": None}),
        ('{"n": 123456789012345678901234567890}', {"n": 123456789012345678901234567890}),
        ("[1, 2]", [1, 2]),
    ],
)
def test_arguments_are_decoded_where_they_are_json(written: str, arguments: Any) -> None:
    [row] = rows_from_otel([tool(1, "f", written, "ok")])
    assert tools(row) == [("f", arguments, "ok")]


def test_rows_are_strict_json_whatever_the_spans_held() -> None:
    spans = [
        tool(1, "f", '{"a": Infinity}', '{"text": "\\ud800"}'),
        chat(2, json.dumps([{"role": "user", "content": "a\ud800b"}]), "x\ud800"),
        span(3, {"tool.name": "g", "tool.input": {"x": float("nan")}}),
    ]
    text = json.dumps(rows_from_otel(spans), allow_nan=False, ensure_ascii=False)
    assert text.encode("utf-8")


def test_instructions_and_pictures_are_no_asks() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:..."}}
    asked = [
        {"role": "developer", "content": "Never mention prices."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is"},
                picture,
                {"type": "text", "text": "this?"},
            ],
        },
        {"role": "user", "content": "  "},
    ]
    [row] = rows_from_otel([chat(1, json.dumps(asked), messages(("assistant", "")))])
    assert (row["prompt"], users(row), row["final_text"]) == ("What is this?", [], "")
    assert row["system"] == "Never mention prices."
