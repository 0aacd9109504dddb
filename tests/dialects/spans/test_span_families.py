"""Each family of producers: where it keeps what was asked, said, called and counted."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from span_kit import messages, parent, span, tools

from whileai_core.dialects.otel import rows_from_otel
from whileai_core.dialects.spans import Span, carries_content, unmapped_attributes

WEATHER = ("weather", {"city": "Oslo"}, {"temp": 7})
OSLO = {"city": "Oslo"}
CALL = {"name": "weather"}
ARGUMENTS = json.dumps(OSLO)
ASKED = [{"role": "user", "content": "Weather in Oslo?"}]
OI_CALL = "llm.output_messages.0.message.tool_calls.0.tool_call"
LANGCHAIN_TOOL = {
    "lc": 1,
    "kwargs": {"content": '{"temp": 7}', "tool_call_id": "c1", "type": "tool"},
}


def lc(kind: str, text: str) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", {"human": "HumanMessage", "ai": "AIMessage"}[kind]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": text, "type": kind}}


def event(name: str, **attributes: Any) -> dict[str, Any]:
    return {"name": name, "attributes": attributes}


# Per producer: the spans of "Weather in Oslo?" answered by one tool call and "7 degrees."
CASES: dict[str, list[dict[str, Any]]] = {
    "genai parts": [
        span(
            1,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": [
                    {"role": "user", "parts": [{"type": "text", "content": "Weather in Oslo?"}]}
                ],
                "gen_ai.output.messages": [
                    {
                        "role": "assistant",
                        "parts": [
                            {"type": "reasoning", "content": "hmm"},
                            {
                                "type": "tool_call",
                                "id": "c1",
                                "name": "weather",
                                "arguments": {"city": "Oslo"},
                            },
                        ],
                    }
                ],
            },
        ),
        span(
            2,
            {
                "gen_ai.operation.name": "chat",
                "gen_ai.input.messages": [
                    {
                        "role": "tool",
                        "parts": [
                            {"type": "tool_call_response", "id": "c1", "result": {"temp": 7}}
                        ],
                    }
                ],
                "gen_ai.output.messages": [
                    {"role": "assistant", "parts": [{"type": "text", "content": "7 degrees."}]}
                ],
            },
        ),
    ],
    "genai details event": [
        span(
            1,
            {"gen_ai.operation.name": "chat"},
            events=[
                event(
                    "gen_ai.client.inference.operation.details",
                    **{
                        "gen_ai.input.messages": messages(("user", "Weather in Oslo?")),
                        "gen_ai.output.messages": messages(("assistant", "7 degrees.")),
                    },
                )
            ],
        ),
        span(
            2,
            {
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.arguments": '{"city": "Oslo"}',
                "gen_ai.tool.call.result": '{"temp": 7}',
            },
        ),
    ],
    "genai message events (Strands)": [
        span(
            1,
            {"gen_ai.operation.name": "chat"},
            events=[
                event("gen_ai.user.message", content='[{"text": "Weather in Oslo?"}]'),
                event(
                    "gen_ai.choice",
                    message=json.dumps([{"toolUse": {"toolUseId": "c1", **CALL, "input": OSLO}}]),
                ),
            ],
        ),
        span(
            2,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.id": "c1",
            },
            events=[
                event("gen_ai.tool.message", role="tool", content='{"city": "Oslo"}', id="c1"),
                event("gen_ai.choice", message='[{"text": "{\\"temp\\": 7}"}]', id="c1"),
            ],
        ),
        span(
            3,
            {"gen_ai.operation.name": "chat"},
            events=[event("gen_ai.choice", message='[{"text": "7 degrees."}]')],
        ),
    ],
    "any-agent": [
        span(
            1,
            {
                "gen_ai.operation.name": "call_llm",
                "gen_ai.input.messages": messages(("user", "Weather in Oslo?")),
                "gen_ai.output": json.dumps([{"tool.name": "weather", "tool.args": ARGUMENTS}]),
            },
        ),
        span(
            2,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.args": '{"city": "Oslo"}',
                "gen_ai.output": '{"temp": 7}',
            },
        ),
        span(3, {"gen_ai.operation.name": "call_llm", "gen_ai.output": "7 degrees."}),
    ],
    "openinference": [
        span(
            1,
            {
                "openinference.span.kind": "LLM",
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.contents.0.message_content.type": "text",
                "llm.input_messages.0.message.contents.0.message_content.text": "Weather in Oslo?",
                "llm.output_messages.0.message.role": "assistant",
                f"{OI_CALL}.id": "c1",
                f"{OI_CALL}.function.name": "weather",
                f"{OI_CALL}.function.arguments": ARGUMENTS,
            },
        ),
        span(
            2,
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "weather",
                "input.value": "{'city': 'Oslo'}",
                "output.value": "content='{\"temp\": 7}' name='weather' tool_call_id='c1'",
            },
        ),
        span(
            3,
            {
                "openinference.span.kind": "LLM",
                "llm.output_messages": [
                    {"message.role": "assistant", "message.content": "7 degrees."}
                ],
            },
        ),
    ],
    "openinference nested attributes": [
        span(
            1,
            {
                "openinference": {"span": {"kind": "LLM"}},
                "llm": {
                    "input_messages": [
                        {"message": {"role": "user", "content": "Weather in Oslo?"}}
                    ],
                    "output_messages": [
                        {"message": {"role": "assistant", "content": "7 degrees."}}
                    ],
                },
            },
        ),
        span(
            2,
            {
                "openinference": {"span": {"kind": "TOOL"}},
                "tool": {"name": "weather"},
                "input": {"value": '{"city": "Oslo"}'},
                "output": {"value": '{"temp": 7}'},
            },
        ),
    ],
    "openinference frames only": [
        span(
            1,
            {
                "openinference.span.kind": "AGENT",
                "input.value": "Weather in Oslo?",
                "output.value": "7 degrees.",
            },
        ),
        span(
            2,
            {
                "openinference.span.kind": "TOOL",
                "tool.name": "weather",
                "input.value": '{"city": "Oslo"}',
                "output.value": '{"temp": 7}',
            },
            **parent(1),
        ),
    ],
    "traceloop": [
        span(
            1,
            {
                "gen_ai.prompt.0.role": "user",
                "gen_ai.prompt.0.content": "Weather in Oslo?",
                "gen_ai.completion.0.role": "assistant",
                "gen_ai.completion.0.tool_calls.0.id": "c1",
                "gen_ai.completion.0.tool_calls.0.name": "weather",
                "gen_ai.completion.0.tool_calls.0.arguments": '{"city": "Oslo"}',
            },
        ),
        span(
            2,
            {
                "traceloop.span.kind": "tool",
                "traceloop.entity.name": "weather",
                "traceloop.entity.input": json.dumps(
                    {
                        "input_str": "{'city': 'Oslo'}",
                        "inputs": {"city": "Oslo"},
                        "tags": [],
                        "metadata": {},
                    }
                ),
                "traceloop.entity.output": json.dumps({"output": LANGCHAIN_TOOL, "kwargs": {}}),
            },
        ),
        span(3, {"gen_ai.completion.0.content": "7 degrees."}),
    ],
    "vercel": [
        span(
            1,
            {
                "ai.operationId": "ai.generateText",
                "ai.prompt": json.dumps({"system": "Be brief.", "messages": ASKED}),
                "ai.response.text": "7 degrees.",
            },
        ),
        span(
            2,
            {
                "ai.operationId": "ai.generateText.doGenerate",
                "ai.prompt.messages": json.dumps(ASKED),
                "ai.response.toolCalls": json.dumps(
                    [{"toolCallId": "c1", "toolName": "weather", "args": ARGUMENTS}]
                ),
            },
            **parent(1),
        ),
        span(
            3,
            {
                "ai.toolCall.name": "weather",
                "ai.toolCall.id": "c1",
                "ai.toolCall.args": '{"city": "Oslo"}',
                "ai.toolCall.result": '{"temp": 7}',
            },
            name="ai.toolCall",
            **parent(1),
        ),
    ],
    "adk": [
        span(
            1,
            {
                "gcp.vertex.agent.llm_request": json.dumps(
                    {
                        "contents": [{"role": "user", "parts": [{"text": "Weather in Oslo?"}]}],
                        "config": {"system_instruction": "Be brief."},
                    }
                ),
                "gcp.vertex.agent.llm_response": json.dumps(
                    {
                        "content": {
                            "role": "model",
                            "parts": [
                                {
                                    "function_call": {
                                        "id": "c1",
                                        "name": "weather",
                                        "args": {"city": "Oslo"},
                                    }
                                }
                            ],
                        }
                    }
                ),
            },
            name="call_llm",
        ),
        span(
            2,
            {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.id": "c1",
                "gcp.vertex.agent.llm_request": "{}",
                "gcp.vertex.agent.tool_call_args": '{"city": "Oslo"}',
                "gcp.vertex.agent.tool_response": '{"temp": 7}',
            },
        ),
        span(
            3,
            {
                "gcp.vertex.agent.llm_request": "{}",
                "gcp.vertex.agent.llm_response": json.dumps(
                    {"content": {"parts": [{"text": "7 degrees."}]}}
                ),
            },
            name="call_llm",
        ),
    ],
    "pydantic agent span": [
        span(
            1,
            {
                "pydantic_ai.all_messages": json.dumps(
                    [
                        {
                            "role": "user",
                            "parts": [{"type": "text", "content": "Weather in Oslo?"}],
                        },
                        {
                            "role": "assistant",
                            "parts": [
                                {
                                    "type": "tool_call",
                                    "id": "c1",
                                    "name": "weather",
                                    "arguments": {"city": "Oslo"},
                                }
                            ],
                        },
                        {
                            "role": "user",
                            "parts": [
                                {"type": "tool_call_response", "id": "c1", "result": {"temp": 7}}
                            ],
                        },
                        {"role": "assistant", "parts": [{"type": "text", "content": "7 degrees."}]},
                    ]
                )
            },
            name="agent run",
        ),
        span(
            2,
            {
                "gen_ai.tool.name": "weather",
                "gen_ai.tool.call.id": "c1",
                "tool_arguments": '{"city": "Oslo"}',
            },
            name="running tool",
        ),
    ],
    "pydantic events": [
        span(
            1,
            {
                "events": json.dumps(
                    [
                        {
                            "event.name": "gen_ai.user.message",
                            "role": "user",
                            "content": "Weather in Oslo?",
                        },
                        {
                            "event.name": "gen_ai.choice",
                            "index": 0,
                            "message": {"role": "assistant", "content": "7 degrees."},
                        },
                    ]
                )
            },
        ),
        span(
            2,
            {
                "gen_ai.tool.name": "weather",
                "tool_arguments": '{"city": "Oslo"}',
                "tool_response": '{"temp": 7}',
            },
        ),
    ],
    "logfire": [
        span(
            1,
            {
                "request_data": json.dumps({"messages": ASKED, "model": "m"}),
                "response_data": '{"message": {"role": "assistant", "content": "7 degrees."}}',
            },
        ),
        span(
            2,
            {
                "gen_ai.tool.name": "weather",
                "tool_arguments": '{"city": "Oslo"}',
                "tool_response": '{"temp": 7}',
            },
        ),
    ],
    "langfuse": [
        span(
            1,
            {
                "langfuse.observation.type": "generation",
                "langfuse.observation.input": messages(("user", "Weather in Oslo?")),
                "langfuse.observation.output": '{"role": "assistant", "content": "7 degrees."}',
            },
        ),
        span(
            2,
            {
                "langfuse.observation.type": "tool",
                "langfuse.observation.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
                "langfuse.observation.output": '{"temp": 7}',
            },
            name="weather",
        ),
    ],
    "langsmith": [
        span(
            1,
            {
                "langsmith.span.kind": "llm",
                "gen_ai.prompt": json.dumps({"messages": [[lc("human", "Weather in Oslo?")]]}),
                "gen_ai.completion": json.dumps(
                    {"generations": [[{"text": "7 degrees.", "message": lc("ai", "7 degrees.")}]]}
                ),
            },
        ),
        span(
            2,
            {
                "langsmith.span.kind": "tool",
                "gen_ai.prompt": "{\"input\": \"{'city': 'Oslo'}\"}",
                "gen_ai.completion": '{"output": {"temp": 7}}',
            },
            name="weather",
        ),
    ],
    "mlflow": [
        span(
            1,
            {
                "mlflow.spanType": '"AGENT"',
                "mlflow.spanInputs": '{"question": "Weather in Oslo?"}',
                "mlflow.spanOutputs": '"7 degrees."',
            },
        ),
        span(
            2,
            {
                "mlflow.spanType": '"TOOL"',
                "mlflow.spanInputs": '{"city": "Oslo"}',
                "mlflow.spanOutputs": '{"temp": 7}',
            },
            name="weather",
            **parent(1),
        ),
    ],
    "agentops": [
        span(
            1,
            {
                "gen_ai.prompt.0.content": "Weather in Oslo?",
                "gen_ai.prompt.0.role": "user",
                "gen_ai.completion.0.content": "7 degrees.",
            },
        ),
        span(
            2,
            {
                "agentops.span.kind": "tool",
                "agentops.entity.name": "weather",
                "agentops.entity.input": '{"args": [], "kwargs": {"city": "Oslo"}}',
                "agentops.entity.output": '{"temp": 7}',
            },
        ),
    ],
    "monocle": [
        span(
            1,
            {"span.type": "inference"},
            events=[
                event(
                    "data.input", input=['{"system": "Be brief."}', '{"user": "Weather in Oslo?"}']
                ),
                event("data.output", response='{"assistant": "7 degrees."}'),
            ],
        ),
        span(
            2,
            {"span.type": "agentic.tool.invocation", "entity.1.name": "weather"},
            events=[
                event("data.input", input="{'city': 'Oslo'}"),
                event("data.output", response='{"temp": 7}'),
            ],
        ),
    ],
}


@pytest.mark.parametrize("producer", CASES)
def test_a_producers_spans_tell_the_conversation(producer: str) -> None:
    [row] = rows_from_otel(CASES[producer])
    assert row["prompt"] == "Weather in Oslo?"
    assert tools(row) == [WEATHER]
    assert row["final_text"] == "7 degrees."


@pytest.mark.parametrize(
    ("attributes", "usage"),
    [
        ({"gen_ai.usage.prompt_tokens": "3", "gen_ai.usage.completion_tokens": 4.0}, (3, 4)),
        ({"llm.token_count.prompt": 3, "llm.token_count.completion": 4}, (3, 4)),
        ({"llm.usage.prompt_tokens": 3, "gen_ai.usage.output_tokens": 4}, (3, 4)),
        ({"ai.usage.promptTokens": 3, "ai.usage.completionTokens": 4}, (3, 4)),
        ({"ai.usage.inputTokens": 3, "gen_ai.usage.input_tokens": 3}, (3, 0)),
        ({"langfuse.observation.usage_details": '{"input": 3, "output": 4}'}, (3, 4)),
        ({"mlflow.chat.tokenUsage": '{"input_tokens": 3, "output_tokens": 4}'}, (3, 4)),
        ({"gen_ai.usage.input_tokens": True, "gen_ai.usage.output_tokens": "many"}, None),
        ({"gen_ai.usage.input_tokens": -1}, None),
    ],
)
def test_tokens_are_counted_in_every_dialect(
    attributes: dict[str, Any], usage: tuple[int, int] | None
) -> None:
    [row] = rows_from_otel([span(1, {"gen_ai.prompt": "q", **attributes})])
    expected = usage and {"input_tokens": usage[0], "output_tokens": usage[1]}
    assert row.get("usage") == expected


@pytest.mark.parametrize(
    "attribute",
    [
        "gen_ai.conversation.id",
        "session.id",
        "langfuse.session.id",
        "ai.telemetry.metadata.sessionId",
        "gcp.vertex.agent.session_id",
        "traceloop.association.properties.session_id",
        "langsmith.metadata.thread_id",
        "mlflow.trace.session",
        "scope.agentic.session",
    ],
)
def test_conversations_are_named_in_every_dialect(attribute: str) -> None:
    [row] = rows_from_otel([span(1, {"gen_ai.prompt": "q", attribute: '"c-9"'})])
    assert row["conversation_id"] == "c-9"


def test_attributes_no_family_reads_are_counted_by_family() -> None:
    attributes = {"gen_ai.new.thing": 1, "llm.x.0.y": 1, "llm.x.1.y": 1, "http.method": "GET"}
    known = {"gen_ai.prompt.0.role": "user", "ai.response.text": "a"}
    found = unmapped_attributes([Span(attributes=attributes | known)])
    assert found == Counter(
        {
            ("genai", "gen_ai.new.thing"): 1,
            ("openinference", "llm.x.N.y"): 2,
            ("", "http.method"): 1,
        }
    )


def test_plumbing_carries_no_content() -> None:
    assert not carries_content(Span(attributes={"http.method": "GET", "session.id": "s"}))
    assert carries_content(Span(attributes={"gen_ai.prompt": "a"}))
    assert carries_content(Span(name="execute_tool f"))


def test_a_thread_of_the_machine_is_no_conversation() -> None:
    talk = {"gen_ai.prompt": "q", "thread.id": "t-9"}
    assert rows_from_otel([span(1, talk)])[0]["conversation_id"] == "t-9"
    for machine in ({"thread.id": 12}, {"thread.id": "12", "thread.name": "main"}):
        rows = rows_from_otel([span(1, talk | machine), span(2, talk | machine, traceId="ab" * 16)])
        assert len(rows) == 2
