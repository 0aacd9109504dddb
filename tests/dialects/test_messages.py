"""Chat messages of every producer say the same conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whileai_core import jsonio
from whileai_core.dialects.events import Ask, Call, Event, Instruct, Result, Say
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.messages.plain import read_plain_chat
from whileai_core.dialects.normalise import as_row
from whileai_core.dialects.steps import row_from_events, steps_from_events

ARGUMENTS = {"city": "Linz"}
RESULT = {"temp": 7}

SHAPES: dict[str, list[Any]] = {
    "OpenAI": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                {
                    "id": "1",
                    "type": "function",
                    "function": {"name": "look", "arguments": json.dumps(ARGUMENTS)},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "1", "content": json.dumps(RESULT)},
        {"role": "assistant", "content": "7 degrees."},
    ],
    "OpenAI, function_call": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Looking.",
            "function_call": {"name": "look", "arguments": json.dumps(ARGUMENTS)},
        },
        {"role": "function", "name": "look", "content": json.dumps(RESULT)},
        {"role": "assistant", "content": "7 degrees."},
    ],
    "OpenAI Responses": [
        {"type": "message", "role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "Looking."}],
        },
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "1",
            "name": "look",
            "arguments": json.dumps(ARGUMENTS),
        },
        {"type": "function_call_output", "call_id": "1", "output": json.dumps(RESULT)},
        {"role": "assistant", "content": [{"type": "output_text", "text": "7 degrees."}]},
    ],
    "Anthropic": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "x"},
                {"type": "text", "text": "Looking."},
                {"type": "tool_use", "id": "1", "name": "look", "input": ARGUMENTS},
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": [{"type": "text", "text": json.dumps(RESULT)}],
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "7 degrees."}]},
    ],
    "Bedrock": [
        {"role": "system", "content": [{"text": "Be brief."}]},
        {"role": "user", "content": [{"text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"text": "Looking."},
                {"toolUse": {"toolUseId": "1", "name": "look", "input": ARGUMENTS}},
            ],
        },
        {
            "role": "user",
            "content": [{"toolResult": {"toolUseId": "1", "content": [{"json": RESULT}]}}],
        },
        {"role": "assistant", "content": [{"text": "7 degrees."}]},
    ],
    "Gemini": [
        {"role": "system", "parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"text": "Looking."},
                {"functionCall": {"name": "look", "args": ARGUMENTS}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": RESULT}}]},
        {"role": "model", "parts": [{"text": "7 degrees."}]},
    ],
    "GenAI parts": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "Looking."},
                {"type": "tool_call", "id": "1", "name": "look", "arguments": ARGUMENTS},
            ],
        },
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": "1", "response": json.dumps(RESULT)}],
        },
        {"role": "assistant", "parts": [{"type": "text", "content": "7 degrees."}]},
    ],
    "GenAI parts, older": [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "Weather?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Looking."},
                {"type": "tool_call", "id": "1", "name": "look", "arguments": ARGUMENTS},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "result": RESULT}]},
        {"role": "assistant", "parts": [{"type": "text", "content": "7 degrees."}]},
    ],
    "LangChain": [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": "Weather?"},
        {
            "type": "ai",
            "content": "Looking.",
            "tool_calls": [{"name": "look", "args": ARGUMENTS, "id": "1", "type": "tool_call"}],
        },
        {"type": "tool", "content": json.dumps(RESULT), "tool_call_id": "1", "name": "look"},
        {"type": "ai", "content": "7 degrees."},
    ],
    "LangChain, serialised": [
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", name],
            "kwargs": kwargs,
        }
        for name, kwargs in (
            ("SystemMessage", {"content": "Be brief."}),
            ("HumanMessage", {"content": "Weather?", "type": "human"}),
            (
                "AIMessageChunk",
                {
                    "content": "Looking.",
                    "additional_kwargs": {
                        "tool_calls": [
                            {
                                "id": "1",
                                "function": {"name": "look", "arguments": json.dumps(ARGUMENTS)},
                            }
                        ]
                    },
                },
            ),
            ("ToolMessage", {"content": json.dumps(RESULT), "tool_call_id": "1"}),
            ("AIMessage", {"content": "7 degrees."}),
        )
    ],
    "LangChain, data": [
        {"type": "system", "data": {"content": "Be brief.", "type": "system"}},
        {"type": "human", "data": {"content": "Weather?", "type": "human"}},
        {
            "type": "ai",
            "data": {
                "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "1", "name": "look", "input": ARGUMENTS},
                ],
                "tool_calls": [{"name": "look", "args": ARGUMENTS, "id": "1"}],
            },
        },
        {"type": "tool", "data": {"content": json.dumps(RESULT), "tool_call_id": "1"}},
        {"type": "ai", "data": {"content": "7 degrees."}},
    ],
    "ShareGPT": [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Weather?"},
        {"from": "gpt", "value": "Looking."},
        {
            "from": "function_call",
            "value": json.dumps({"name": "look", "arguments": ARGUMENTS}),
        },
        {"from": "observation", "value": json.dumps(RESULT)},
        {"from": "gpt", "value": "7 degrees."},
    ],
    "Hermes": [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Weather?"},
        {
            "from": "gpt",
            "value": "<think>hm</think>\nLooking.\n<tool_call>\n"
            + json.dumps({"name": "look", "arguments": ARGUMENTS})
            + "\n</tool_call>",
        },
        {
            "from": "tool",
            "value": "<tool_response>\n"
            + json.dumps({"name": "look", "content": RESULT})
            + "\n</tool_response>",
        },
        {"from": "gpt", "value": "7 degrees."},
    ],
    "AI SDK": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Looking."},
                {"type": "tool-call", "toolCallId": "1", "toolName": "look", "input": ARGUMENTS},
            ],
        },
        {
            "role": "tool",
            "content": [
                {
                    "type": "tool-result",
                    "toolCallId": "1",
                    "toolName": "look",
                    "output": {"type": "json", "value": RESULT},
                }
            ],
        },
        {"role": "assistant", "content": "7 degrees."},
    ],
    "AI SDK UI": [
        {"role": "system", "parts": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "parts": [
                {"type": "step-start"},
                {"type": "text", "text": "Looking."},
                {
                    "type": "tool-look",
                    "toolCallId": "1",
                    "state": "output-available",
                    "input": ARGUMENTS,
                    "output": RESULT,
                },
                {"type": "text", "text": "7 degrees."},
            ],
        },
    ],
    "Azure evaluation": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Looking."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_call", "tool_call_id": "1", "name": "look", "arguments": ARGUMENTS}
            ],
        },
        {
            "role": "tool",
            "tool_call_id": "1",
            "content": [{"type": "tool_result", "tool_result": RESULT}],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "7 degrees."}]},
    ],
    "AutoGen AgentChat": [
        {"type": "SystemMessage", "content": "Be brief."},
        {"type": "TextMessage", "source": "user", "content": "Weather?"},
        {"type": "ThoughtEvent", "source": "bot", "content": "Hm."},
        {"type": "TextMessage", "source": "bot", "content": "Looking."},
        {
            "type": "ToolCallRequestEvent",
            "source": "bot",
            "content": [{"id": "1", "name": "look", "arguments": json.dumps(ARGUMENTS)}],
        },
        {
            "type": "ToolCallExecutionEvent",
            "source": "bot",
            "content": [{"call_id": "1", "name": "look", "content": json.dumps(RESULT)}],
        },
        {"type": "TextMessage", "source": "bot", "content": "7 degrees."},
        {"type": "StopMessage", "source": "team", "content": "Maximum reached."},
    ],
    "AutoGen model context": [
        {"type": "SystemMessage", "content": "Be brief."},
        {"type": "UserMessage", "source": "user", "content": "Weather?"},
        {"type": "AssistantMessage", "source": "bot", "content": "Looking."},
        {
            "type": "AssistantMessage",
            "source": "bot",
            "content": [{"id": "1", "name": "look", "arguments": json.dumps(ARGUMENTS)}],
        },
        {
            "type": "FunctionExecutionResultMessage",
            "content": [{"call_id": "1", "content": json.dumps(RESULT), "is_error": False}],
        },
        {"type": "AssistantMessage", "source": "bot", "content": "7 degrees."},
    ],
    "Letta": [
        {"message_type": "system_message", "content": "Be brief."},
        {"message_type": "user_message", "content": '{"type": "login", "time": "now"}'},
        {
            "message_type": "user_message",
            "content": '{"type": "user_message", "message": "Weather?", "time": "now"}',
        },
        {"message_type": "reasoning_message", "reasoning": "Hm."},
        {
            "message_type": "tool_call_message",
            "tool_call": {
                "name": "send_message",
                "arguments": '{"message": "Looking."}',
                "tool_call_id": "0",
            },
        },
        {"message_type": "tool_return_message", "name": "send_message", "tool_return": "None"},
        {
            "message_type": "tool_call_message",
            "tool_call": {
                "name": "look",
                "arguments": json.dumps(ARGUMENTS),
                "tool_call_id": "1",
            },
        },
        {
            "message_type": "tool_return_message",
            "name": "look",
            "tool_return": json.dumps(RESULT),
            "status": "success",
            "tool_call_id": "1",
        },
        {"message_type": "assistant_message", "content": "7 degrees."},
    ],
}
STEPS = [
    {"user": "Weather?"},
    {"text": "Looking."},
    {"tool": "look", "arguments": ARGUMENTS, "result": RESULT},
    {"text": "7 degrees."},
]


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_say_the_same(shape: str) -> None:
    row = row_from_events(events_of(SHAPES[shape]), extra={"model": "m", "prompt": "never"})
    assert row == {
        "prompt": "Weather?",
        "steps": STEPS,
        "final_text": "7 degrees.",
        "system": "Be brief.",
        "model": "m",
    }


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_make_rows(shape: str) -> None:
    messages = SHAPES[shape]
    before = json.dumps(messages)
    row = as_row({"messages": messages})
    assert row is not None
    assert (row["prompt"], row["steps"], row["final_text"]) == ("Weather?", STEPS, "7 degrees.")
    assert json.dumps(messages) == before
    assert events_of(json.dumps(messages)) == events_of(messages)


def test_roles_in_any_letter_case() -> None:
    said = events_of([{"role": "User", "content": "a"}, {"role": " ASSISTANT", "content": "b"}])
    assert said == [Ask("a"), Say("b")]


def test_speakers() -> None:
    corpus = [{"speaker": "USER", "utterance": "a"}, {"sender": "bot", "text": "b"}]
    assert events_of(corpus) == [Ask("a"), Say("b")]


def test_blocks_beside_a_text_say_more_than_it() -> None:
    blocks = [
        {"type": "tool_use", "id": "1", "name": "look", "input": {"city": "Bonn"}},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "7"}]},
        {"type": "text", "text": "7 degrees."},
    ]
    assert events_of([{"sender": "assistant", "text": "7 degrees.", "content": blocks}]) == [
        Call("look", {"city": "Bonn"}, "1"),
        Result(7, "1"),
        Say("7 degrees."),
    ]


def test_replies_in_their_envelopes() -> None:
    message = {"role": "assistant", "content": "yes"}
    for wrapped in (
        {"choices": [{"index": 0, "message": message}, {"index": 1, "message": message}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "yes"}]}}]},
        {"output": [{"type": "message", "role": "assistant", "content": "yes"}]},
        {"messages": [message]},
        {"status_code": 200, "body": {"choices": [{"message": message}]}},
        {"generations": [[{"text": "yes", "message": {"type": "ai", "data": {"content": "yes"}}}]]},
        [[message]],
        [["assistant", "yes"]],
    ):
        assert events_of(wrapped) == [Say("yes")]


@pytest.mark.parametrize("arguments", ["{oops", "[1]", "3", "", None, 7, '"text"'])
def test_arguments_that_are_no_object_become_empty(arguments: object) -> None:
    calls = [{"id": "1", "function": {"name": "f", "arguments": arguments}}]
    assert events_of([{"role": "assistant", "tool_calls": calls}]) == [Call("f", {}, "1")]


@pytest.mark.parametrize(
    "arguments", ['{"a": 1}', json.dumps('{"a": 1}'), {"a": 1}, "{'a': 1}", ' {"a": 1}\n']
)
def test_arguments_are_decoded(arguments: object) -> None:
    calls = [{"id": "1", "function": {"name": "f", "arguments": arguments}}]
    assert events_of([{"role": "assistant", "tool_calls": calls}]) == [Call("f", {"a": 1}, "1")]


@pytest.mark.parametrize(
    ("content", "value"),
    [
        ("42", 42),
        ("null", None),
        ("plain words", "plain words"),
        ("NaN", "NaN"),
        ('{"p": NaN}', {"p": None}),
        ({"status": "timeout"}, {"status": "timeout"}),
        ([{"type": "text", "text": '{"a": 1}'}], {"a": 1}),
        ([{"id": 1}, {"id": 2}], [{"id": 1}, {"id": 2}]),
        ("123456789012345678901", 123456789012345678901),
        ("[" * 5000, "[" * 5000),
        ("", ""),
    ],
)
def test_results_are_decoded_when_they_are_json(content: object, value: object) -> None:
    assert events_of([{"role": "tool", "tool_call_id": "1", "content": content}]) == [
        Result(value, "1")
    ]


def test_failed_results_read_as_errors() -> None:
    (said,) = events_of(
        [{"type": "tool", "tool_call_id": "1", "status": "error", "content": "no such file"}]
    )
    assert said == Result({"error": "no such file", "status": "error"}, "1")
    blocks = [{"type": "tool_result", "tool_use_id": "1", "is_error": True, "content": '{"c": 1}'}]
    (said,) = events_of([{"role": "user", "content": blocks}])
    assert said == Result({"c": 1, "error": '{"c": 1}', "status": "error"}, "1")


def test_failed_results_of_agents_read_as_errors() -> None:
    failed = {"content": "no such city", "call_id": "1", "is_error": True}
    returned = {"tool_return": "no such city", "status": "error", "tool_call_id": "1"}
    for message in (
        {"type": "ToolCallExecutionEvent", "content": [failed]},
        {"message_type": "tool_return_message", **returned},
    ):
        [result] = events_of([message])
        assert isinstance(result, Result)
        assert result.value == {"error": "no such city", "status": "error"}


def test_images_are_no_words() -> None:
    content = [
        {"type": "text", "text": "What is"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        "this?",
        {"type": "text", "text": ""},
    ]
    assert events_of({"role": "user", "content": content}) == [Ask("What is\nthis?")]
    assert events_of({"role": "user", "content": content}, joiner=" ") == [Ask("What is this?")]


def test_a_refusal_is_a_reply() -> None:
    message: Any = {"role": "assistant", "content": None, "refusal": "I can't.", "tool_calls": []}
    assert events_of([message]) == [Say("I can't.")]
    row = as_row({"messages": [{"role": "user", "content": "q"}, message]})
    assert row is not None and row["final_text"] == "I can't."


def test_people_with_roles_are_no_messages() -> None:
    row = as_row({"prompt": "p", "steps": [{"role": "user", "name": "Ann"}]})
    assert row is not None and row["steps"] == [{"role": "user", "name": "Ann"}]


def call(name: str, identity: str | None = None, **arguments: Any) -> Call:
    return Call(name, arguments, identity)


def test_results_bind_by_id_then_name_then_order() -> None:
    steps = steps_from_events(
        [
            call("a", "1"),
            call("b", "2"),
            call("a"),
            call("c"),
            Result("by id", "2"),
            Result("by name", None, "a"),
            Result("by order"),
            Result("for c", "unknown", "c"),
            Result("orphan", None, "d"),
        ]
    )
    assert [(step["tool"], step["result"]) for step in steps] == [
        ("a", "by name"),
        ("b", "by id"),
        ("a", "by order"),
        ("c", "for c"),
        ("d", "orphan"),
    ]


def test_a_result_for_an_answered_call_never_fills_another() -> None:
    events: list[Event] = [
        call("f", "1", p=1),
        call("f", "2", p=2),
        Result(10, "1"),
        Result(10, "1"),
    ]
    assert steps_from_events(events) == [
        {"tool": "f", "arguments": {"p": 1}, "result": 10},
        {"tool": "f", "arguments": {"p": 2}},
    ]
    more = steps_from_events([*events, Result(11, "1")])
    assert more[2:] == [{"tool": "f", "arguments": {}, "result": 11}]


def test_an_id_used_again_is_a_new_call() -> None:
    steps = steps_from_events([call("f", "1"), Result(1, "1"), call("f", "1"), Result(2, "1")])
    assert [step["result"] for step in steps] == [1, 2]


def test_an_empty_user_message_is_an_empty_step() -> None:
    assert steps_from_events(events_of([{"role": "user", "content": ""}])) == [{"user": ""}]


def test_instructions_are_no_steps() -> None:
    said = events_of([{"role": "developer", "content": "a"}, {"role": "system", "content": "b"}])
    assert said == [Instruct("a"), Instruct("b")]
    assert row_from_events(said) == {"prompt": "", "steps": [], "final_text": "", "system": "a\nb"}


# The shortcut for plain chat gives what the general path gives, or gives up.

texts = st.sampled_from(["", " ", "hi", '{"a": 1}', "[1]", "{x", "NaN", "<tool_call>{}", "7"])
contents = st.one_of(
    st.none(),
    texts,
    texts,
    st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=2),
    st.just({"status": "ok"}),
)
functions = st.fixed_dictionaries(
    {"name": st.sampled_from(["f", "g", ""]), "arguments": st.one_of(texts, st.just({"a": 1}))}
)
calls = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["1", "2", "3", ""]), "function": functions},
    ),
    max_size=3,
)
messages = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "assistant", "tool", "tool", "system"])},
        optional={
            "content": contents,
            "tool_calls": st.one_of(st.none(), calls, calls),
            "tool_call_id": st.sampled_from(["1", "2", "3", "4"]),
            "name": st.sampled_from(["f", "g"]),
            "refusal": st.sampled_from([None, "no"]),
            "function_call": st.one_of(st.none(), functions),
            "is_error": st.booleans(),
        },
    ),
    max_size=7,
)


@settings(max_examples=500, deadline=None)
@given(messages)
def test_the_shortcut_agrees_with_the_general_path(chat: list[dict[str, Any]]) -> None:
    found = read_plain_chat(chat, jsonio.loads_strict)
    if found is not None:
        steps, prompt, final_text = found
        assert steps == steps_from_events(events_of(chat))
        assert prompt == next((step["user"] for step in steps if "user" in step), "")
        assert final_text == next((s["text"] for s in reversed(steps) if "text" in s), "")


def test_the_shortcut_is_taken() -> None:
    assert read_plain_chat(SHAPES["OpenAI"], jsonio.loads_exact) is not None


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "parts", "text", "tool_calls", "function", "name",
                 "message_type", "tool_return", "tool_call", "source",
                 "arguments", "from", "value", "data", "lc", "id", "kwargs", "input", "output",
                 "toolUse", "toolResult", "functionCall", "message", "messages", "choices"]
            ),
            inner | st.sampled_from(["user", "assistant", "tool", "ai", "text", "tool_use",
                                     "tool_result", "function_call", "tool_call", "constructor",
                                     "TextMessage", "ToolCallRequestEvent", "user_message",
                                     "ToolCallExecutionEvent", "tool_call_message",
                                     "tool_return_message"]),
            max_size=5,
        )
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(anything)
def test_no_message_raises(value: object) -> None:
    for event in events_of(value):
        if isinstance(event, Call):
            assert isinstance(event.arguments, dict)
            assert event.name
        elif isinstance(event, Ask | Say | Instruct):
            assert isinstance(event.text, str)
