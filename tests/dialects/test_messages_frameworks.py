"""Messages of agent frameworks and chat templates: the same call, told in each one's way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from record_cases import error

from whileai_core.dialects.events import Ask, Call, Event, Result, Say
from whileai_core.dialects.load import load_traces
from whileai_core.dialects.messages import events_of
from whileai_core.dialects.normalise import as_row
from whileai_core.dialects.steps import steps_from_events

ASK, DONE = "Weather?", "7 degrees."
GIVEN = {"city": "Linz"}
TEXT = json.dumps(GIVEN)
STEPS = [
    {"user": ASK},
    {"tool": "look", "arguments": GIVEN, "result": {"temp": 7}},
    {"text": DONE},
]
ANSWER = '{"temp": 7}'


def net(kind: str, **fields: Any) -> dict[str, Any]:
    return {"$type": kind, **fields}


def haystack(role: str, content: dict[str, Any], mark: str = "") -> dict[str, Any]:
    return {
        f"{mark}role": role,
        f"{mark}content": [content],
        f"{mark}name": None,
        f"{mark}meta": {},
    }


def haystack_chat(mark: str) -> list[dict[str, Any]]:
    call = {"tool_name": "look", "arguments": GIVEN, "id": "c"}
    answer = {"result": ANSWER, "error": False, "origin": call}
    return [
        haystack("user", {"text": ASK}, mark),
        haystack("assistant", {"tool_call": call}, mark),
        haystack("tool", {"tool_call_result": answer}, mark),
        haystack("assistant", {"text": DONE}, mark),
    ]


def microsoft_chat(contents: str, kind: str, role: Any = str) -> list[dict[str, Any]]:
    call = {kind: "function_call", "call_id": "c", "name": "look", "arguments": TEXT}
    return [
        {"role": role("user"), contents: [{kind: "text", "text": ASK}]},
        {"role": role("assistant"), contents: [{kind: "text_reasoning", "text": "hm"}, call]},
        {
            "role": role("tool"),
            contents: [{kind: "function_result", "call_id": "c", "result": ANSWER}],
        },
        {"role": role("assistant"), contents: [{kind: "text", "text": DONE}]},
    ]


def template_chat(call: str, answer: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": call},
        answer,
        {"role": "assistant", "content": DONE},
    ]


IN_USERS_PLACE = {"role": "user", "content": f"<tool_response>\n{ANSWER}\n</tool_response>"}
AS_TOOL = {"role": "tool", "content": ANSWER}
FUNCTION = "<function=look>\n<parameter=city>\nLinz\n</parameter>\n</function>"
OPENAI_CALL = {"id": "c", "type": "function", "function": {"name": "look", "arguments": TEXT}}

SHAPES: dict[str, list[Any]] = {
    "Pydantic AI": [
        {
            "kind": "request",
            "instructions": "Be brief.",
            "parts": [
                {"part_kind": "system-prompt", "content": "Be polite."},
                {"part_kind": "user-prompt", "content": [ASK, {"kind": "image-url", "url": "x"}]},
            ],
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "hm"},
                {"part_kind": "tool-call", "tool_name": "look", "args": TEXT, "tool_call_id": "c"},
            ],
        },
        {
            "kind": "request",
            "parts": [
                {
                    "part_kind": "tool-return",
                    "tool_name": "look",
                    "content": {"temp": 7},
                    "tool_call_id": "c",
                }
            ],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": DONE}]},
    ],
    "Haystack": haystack_chat(""),
    "Haystack 2.8": haystack_chat("_"),
    "Agent Framework": microsoft_chat("contents", "type"),
    "Agent Framework, roles as objects": microsoft_chat(
        "contents", "type", lambda word: {"type": "role", "value": word}
    ),
    "Semantic Kernel": microsoft_chat("items", "content_type"),
    "Semantic Kernel, .NET": [
        {"Role": {"Label": "user"}, "Items": [net("TextContent", Text=ASK)]},
        {
            "Role": {"Label": "assistant"},
            "Items": [
                net("FunctionCallContent", Id="c", FunctionName="look", Arguments={"city": "Linz"})
            ],
        },
        {
            "Role": {"Label": "tool"},
            "Items": [net("FunctionResultContent", CallId="c", Result=ANSWER)],
        },
        {"Role": {"Label": "assistant"}, "Items": [net("TextContent", Text=DONE)]},
    ],
    "LlamaIndex": [
        {"role": "user", "blocks": [{"block_type": "text", "text": ASK}], "additional_kwargs": {}},
        {"role": "assistant", "blocks": [], "additional_kwargs": {"tool_calls": [OPENAI_CALL]}},
        {
            "role": "tool",
            "blocks": [{"block_type": "text", "text": ANSWER}],
            "additional_kwargs": {"tool_call_id": "c", "name": "look"},
        },
        {"role": "MessageRole.ASSISTANT", "blocks": [{"block_type": "text", "text": DONE}]},
    ],
    "LlamaIndex, calls as blocks": [
        {"role": "user", "blocks": [{"block_type": "text", "text": ASK}]},
        {
            "role": "assistant",
            "blocks": [
                {"block_type": "thinking", "content": "hm"},
                {
                    "block_type": "tool_call",
                    "tool_call_id": "c",
                    "tool_name": "look",
                    "tool_kwargs": GIVEN,
                },
            ],
        },
        {
            "role": "tool",
            "blocks": [{"block_type": "text", "text": ANSWER}],
            "additional_kwargs": {"tool_call_id": "c"},
        },
        {"role": "assistant", "blocks": [{"block_type": "text", "text": DONE}]},
    ],
    "goose": [
        {"role": "user", "content": [{"type": "text", "text": ASK}]},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "toolRequest",
                    "id": "c",
                    "toolCall": {
                        "status": "success",
                        "value": {"name": "look", "arguments": GIVEN},
                    },
                }
            ],
        },
        {
            "role": "user",
            "content": [
                {
                    "type": "toolResponse",
                    "id": "c",
                    "toolResult": {
                        "status": "success",
                        "value": [{"type": "text", "text": ANSWER}],
                    },
                }
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": DONE}]},
    ],
    "AI SDK 3, calls beside the text": [
        {"role": "user", "content": ASK},
        {
            "role": "assistant",
            "content": DONE,
            "toolInvocations": [
                {
                    "state": "result",
                    "toolCallId": "c",
                    "toolName": "look",
                    "args": GIVEN,
                    "result": {"temp": 7},
                }
            ],
        },
    ],
    "Continue, camel case": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": "", "toolCalls": [OPENAI_CALL]},
        {"role": "tool", "content": ANSWER, "toolCallId": "c"},
        {"role": "assistant", "content": DONE},
    ],
    "calls as JSON text": [
        {"role": "user", "content": ASK},
        {"role": "assistant", "content": "", "tool_calls": [json.dumps(OPENAI_CALL)]},
        {"role": "tool", "content": ANSWER, "tool_call_id": "c"},
        {"role": "assistant", "content": DONE},
    ],
    "Qwen, result in the user's place": template_chat(
        '<tool_call>\n{"name": "look", "arguments": {"city": "Linz"}}\n</tool_call>', IN_USERS_PLACE
    ),
    "Qwen Coder": template_chat(f"<tool_call>\n{FUNCTION}\n</tool_call>", IN_USERS_PLACE),
    "OpenHands without function calls": template_chat(
        FUNCTION, {"role": "user", "content": f"EXECUTION RESULT of [look]:\n{ANSWER}"}
    ),
    "Glaive": template_chat(
        '<functioncall> {"name": "look", "arguments": \'{"city": "Linz"}\'} <|endoftext|>',
        {"role": "function", "content": ANSWER},
    ),
    "Llama, JSON": template_chat(
        '<|python_tag|>{"name": "look", "parameters": {"city": "Linz"}}',
        {"role": "ipython", "content": ANSWER},
    ),
    "Llama, function tag": template_chat('<function=look>{"city": "Linz"}</function>', AS_TOOL),
    "Mistral": template_chat(
        '[TOOL_CALLS] [{"name": "look", "arguments": {"city": "Linz"}}]', AS_TOOL
    ),
    "Python call": template_chat('[look(city="Linz")]', AS_TOOL),
}


@pytest.mark.parametrize("messages", SHAPES.values(), ids=SHAPES)
def test_every_framework_tells_the_same_conversation(messages: list[Any]) -> None:
    assert steps_from_events(events_of(messages)) == STEPS
    row = as_row({"messages": messages})
    assert row is not None
    assert (row["prompt"], row["steps"], row["final_text"]) == (ASK, STEPS, DONE)


@pytest.mark.parametrize("name", [name for name in SHAPES if "calls as JSON" not in name])
def test_a_bare_list_of_them_is_one_conversation(name: str) -> None:
    (row,) = load_traces(json.dumps(SHAPES[name]))
    assert row["steps"] == STEPS


def test_failed_calls_of_frameworks_are_faults() -> None:
    assert events_of(
        [
            {
                "kind": "request",
                "parts": [
                    {"part_kind": "retry-prompt", "tool_name": "f", "content": "bad"},
                    {"part_kind": "retry-prompt", "content": "Answer in JSON."},
                ],
            },
            {"role": "tool", "contents": [{"type": "function_result", "exception": "no"}]},
            {
                "role": "tool",
                "content": [
                    {"tool_call_result": {"result": "off", "error": True, "origin": {}}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "toolResponse", "toolResult": {"status": "error", "error": "gone"}},
                    {
                        "type": "toolResponse",
                        "toolResult": {
                            "status": "success",
                            "value": {"content": [{"type": "text", "text": "x"}], "isError": True},
                        },
                    },
                ],
            },
        ]
    ) == [
        Result(error("bad"), None, "f"),
        Result(error("no")),
        Result(error("off"), None, "tool"),
        Result(error("gone")),
        Result(error("x")),
    ]


def test_the_name_of_a_plugins_function_is_what_the_model_calls_it() -> None:
    call = {"content_type": "function_call", "plugin_name": "w", "function_name": "look"}
    assert events_of([{"role": "assistant", "items": [call]}]) == [Call("w-look", {})]


def test_several_results_in_one_message_find_their_calls() -> None:
    answers = [{"name": "g", "results": 2}, {"name": "f g", "results": {"n": 1}}]
    messages = [
        {"from": "gpt", "value": '[f g(a=1, b=[true, "x)"]), g()]'},
        {"from": "tool", "value": json.dumps(answers)},
    ]
    assert steps_from_events(events_of(messages)) == [
        {"tool": "f g", "arguments": {"a": 1, "b": [True, "x)"]}, "result": {"n": 1}},
        {"tool": "g", "arguments": {}, "result": 2},
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[see f(x)]",
        "[f(x)]",
        "[f(a=1)",
        "[f(a=b)]",
        "[1, 2]",
        "[link](url)",
        "[f(a=1); g()]",
        "[f(a=__import__('os').getcwd())]",
        "Use <function=f> to call it.",
        "<functioncall> nothing",
        "[TOOL_CALLS] none",
        "<|python_tag|>print(1)",
    ],
)
def test_words_that_only_look_like_calls_stay_words(text: str) -> None:
    assert events_of([{"role": "assistant", "content": text}]) == [Say(text)]


def test_many_calls_in_one_text_keep_the_words_between() -> None:
    text = f"First.\n{FUNCTION}\nThen:\n<tool_call>{FUNCTION}</tool_call>"
    assert events_of([{"role": "assistant", "content": text}]) == [
        Say("First."),
        Call("look", GIVEN),
        Say("Then:"),
        Call("look", GIVEN),
    ]


# AutoGen 0.2: `assistant` is whoever keeps the list.

TOLD = [{"role": "tool", "tool_call_id": "c", "content": ANSWER}]


def autogen(asker: str | None, agent: str | None, *, roles: tuple[str, str]) -> list[Any]:
    def message(role: str, name: str | None, **fields: Any) -> dict[str, Any]:
        return {"role": role, **({"name": name} if name else {}), **fields}

    return [
        message(roles[0], asker, content=ASK),
        message("assistant", agent, content=None, tool_calls=[OPENAI_CALL]),
        message("tool", asker, content=ANSWER, tool_responses=TOLD),
        message(roles[1], agent, content=DONE),
    ]


@pytest.mark.parametrize(
    "messages",
    [
        autogen("user_proxy", "helper", roles=("assistant", "user")),
        autogen("user_proxy", "helper", roles=("user", "assistant")),
        autogen("Admin", "helper", roles=("user", "user")),
        autogen(None, None, roles=("assistant", "user")),
        autogen(None, None, roles=("user", "assistant")),
    ],
    ids=["asker's list", "agent's list", "group chat", "asker's, no names", "agent's, no names"],
)
def test_autogen_chats_read_alike_from_every_side(messages: list[Any]) -> None:
    assert steps_from_events(events_of(messages)) == STEPS


def test_autogen_names_alone_tell_whose_list_it_is() -> None:
    messages = [
        {"role": "assistant", "name": "user_proxy", "content": "Hi"},
        {"role": "user", "name": "writer", "content": "Hello"},
        {"role": "user", "name": "critic", "content": "Too short."},
        {"role": "assistant", "name": "user_proxy", "content": "Go on"},
    ]
    told: list[Event] = [Ask("Hi"), Say("Hello"), Say("Too short."), Ask("Go on")]
    assert events_of(messages) == told
    row = as_row({"messages": messages})
    assert row is not None
    assert row["prompt"] == "Hi"


def test_code_the_asker_ran_is_a_call() -> None:
    messages = [
        {"role": "assistant", "name": "user_proxy", "content": "Sum?"},
        {"role": "user", "name": "coder", "content": "So:\n```python\nprint(3)\n```"},
        {
            "role": "assistant",
            "name": "user_proxy",
            "content": "exitcode: 1 (execution failed)\nCode output: no print",
        },
    ]
    assert steps_from_events(events_of(messages))[2:] == [
        {
            "tool": "code_execution",
            "arguments": {"code": "print(3)\n"},
            "result": {"output": "no print", "exit_code": 1},
        }
    ]


@pytest.mark.parametrize(
    "messages",
    [
        [
            {"role": "assistant", "name": "bot", "content": "Hello, I am bot."},
            {"role": "user", "name": "ann", "content": "Hi"},
        ],
        [
            {"role": "user", "name": "user-1", "content": "Hi"},
            {"role": "user", "name": "user-2", "content": "Hi too"},
            {"role": "assistant", "name": "bot", "content": "Hello"},
        ],
        [
            {"role": "assistant", "content": "How can I help?"},
            {"role": "user", "content": "Hi"},
        ],
    ],
    ids=["named", "several users", "no names"],
)
def test_chats_an_agent_opens_keep_their_roles(messages: list[dict[str, str]]) -> None:
    kinds = {"user": Ask, "assistant": Say}
    assert events_of(messages) == [kinds[m["role"]](m["content"]) for m in messages]


@pytest.mark.parametrize("odd", [{}, [1], 7, None, True])
def test_odd_kinds_of_contents_say_nothing(odd: Any) -> None:
    for key in ("type", "part_kind", "block_type", "content_type", "$type"):
        block = {key: odd, "content": {"x": 1}}
        assert events_of([{"role": "assistant", "content": [block]}]) == []
        assert events_of([{"kind": "response", "parts": [block]}]) == []
    answers = [{"role": "tool", "tool_responses": [odd]}]
    assert events_of([{"role": "user", "content": "Hi"}, *answers])[0] == Ask("Hi")
