"""What newest releases of producers write, reduced: each case is one way to misread them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from span_kit import calling, chat, messages, parent, span, tool

from whileai_core.dialects.otel import rows_from_otel

ASK = ("user", "Weather in Oslo and Bergen?")
OSLO, BERGEN = {"city": "Oslo"}, {"city": "Bergen"}
STEPS = [
    {"tool": "weather", "arguments": OSLO, "result": "sun"},
    {"tool": "weather", "arguments": BERGEN, "result": "rain"},
]


def row(*spans: dict[str, Any]) -> dict[str, Any]:
    [found] = rows_from_otel(list(spans))
    return dict(found)


def calls(*ids: str) -> dict[str, Any]:
    parts = [
        {"type": "tool_call", "id": call, "name": "weather", "arguments": arguments}
        for call, arguments in zip(ids, (OSLO, BERGEN), strict=True)
    ]
    return {"role": "assistant", "parts": parts}


def answers(*ids: str) -> list[dict[str, Any]]:
    return [
        {
            "role": "tool",
            "parts": [{"type": "tool_call_response", "id": call, "response": response}],
        }
        for call, response in zip(ids, ("sun", "rain"), strict=True)
    ]


def asked(*more: dict[str, Any]) -> str:
    return json.dumps([{"role": "user", "content": ASK[1]}, *more])


DONE = messages(("assistant", "Sun and rain."))


@pytest.mark.parametrize("told", ["fc", "call"])
def test_a_call_named_by_its_item_and_answered_by_its_call_is_one_step(told: str) -> None:
    """The Responses API gives a call two ids; tracers mix them."""
    found = row(
        chat(1, asked(), json.dumps([calls(f"{told}_1", f"{told}_2")])),
        chat(2, asked(calls("fc_1", "fc_2"), *answers("call_1", "call_2")), DONE),
    )
    assert found["steps"] == STEPS
    assert found["final_text"] == "Sun and rain."


def test_results_alone_in_a_chained_request_answer_the_calls_that_wait() -> None:
    found = row(
        chat(1, asked(), json.dumps([calls("fc_1", "fc_2")])),
        chat(2, json.dumps(answers("call_1", "call_2")), DONE),
    )
    assert found["steps"] == STEPS


def test_a_lone_result_is_not_given_to_one_of_several_calls() -> None:
    found = row(
        chat(1, asked(), json.dumps([calls("a", "b")])),
        chat(2, json.dumps(answers("call_1", "call_2")[:1]), DONE),
    )
    assert [step.get("result") for step in found["steps"]] == [None, None, "sun"]


def test_a_tool_span_with_an_id_no_message_knows_claims_the_call_it_repeats() -> None:
    """ADK counts the calls of a message, and its tool spans bear the ids of events."""
    found = row(
        chat(1, asked(), json.dumps([calls("weather_0", "weather_1")])),
        tool(2, "weather", OSLO, "sun", call="adk-1"),
        tool(3, "weather", BERGEN, "rain", call="adk-2"),
        chat(4, asked(calls("weather_0", "weather_1"), *answers("weather_0", "weather_1")), DONE),
    )
    assert found["steps"] == STEPS


def test_a_tool_span_without_arguments_claims_the_call_that_waits() -> None:
    found = row(
        chat(1, asked(), json.dumps([calls("weather_0", "weather_1")])),
        tool(2, "weather", None, "sun", call="adk-1"),
        tool(3, "weather", None, "rain", call="adk-2"),
    )
    assert found["steps"] == STEPS


def test_a_call_that_another_span_has_the_id_of_is_not_claimed() -> None:
    found = row(
        chat(1, asked(), json.dumps([calling("a", "weather", OSLO)])),
        tool(2, "weather", OSLO, "sun", call="z"),
        tool(3, "weather", OSLO, "rain", call="a"),
    )
    assert [step["result"] for step in found["steps"]] == ["sun", "rain"]


def test_the_span_of_merged_parallel_results_is_no_call() -> None:
    found = row(
        chat(1, asked(), DONE),
        tool(2, "(merged tools)", "N/A", "<not serializable>", call="m")
        | {
            "attributes": {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": "(merged tools)",
                "gcp.vertex.agent.event_id": "m",
                "gcp.vertex.agent.tool_call_args": "N/A",
                "gcp.vertex.agent.tool_response": "<not serializable>",
            }
        },
    )
    assert found["steps"] == []


@pytest.mark.parametrize("key", ["gen_ai.tool.call.result", "ai.toolCall.result"])
def test_a_text_in_quotes_is_the_text(key: str) -> None:
    attributes = {"gen_ai.tool.name": "weather", "gen_ai.operation.name": "execute_tool"}
    found = row(span(1, attributes | {key: '"sun \\u2600"'}))
    assert found["steps"][0]["result"] == "sun ☀"


def test_a_callbacks_inputs_and_outputs_are_unwrapped_wherever_they_stand() -> None:
    inputs = {
        "input_str": "{'city': 'Oslo'}",
        "tags": ["seq:step:1"],
        "metadata": {"thread_id": "t"},
        "inputs": OSLO,
        "kwargs": {"color": "green", "tool_call_id": "c1"},
    }
    message = {"lc": 1, "kwargs": {"content": "sun", "type": "tool", "tool_call_id": "c1"}}
    found = row(
        chat(1, asked(), json.dumps([calling("c1", "weather", OSLO)])),
        tool(2, "weather", inputs, {"output": message, "kwargs": {"name": "weather"}}),
    )
    assert found["steps"] == STEPS[:1]


def test_parameters_that_are_called_like_a_callbacks_stay() -> None:
    found = row(tool(1, "run", {"inputs": {"a": 1}, "kwargs": {}}, "done"))
    assert found["steps"][0]["arguments"] == {"inputs": {"a": 1}, "kwargs": {}}


def openinference_tool(number: int, **values: str) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "TOOL", "tool.name": "weather"}
    return span(number, attributes | {key.replace("_", "."): v for key, v in values.items()})


def test_a_message_with_its_type_beside_gives_result_and_id() -> None:
    output = {"type": "tool", "data": {"content": "sun", "tool_call_id": "c1", "name": "weather"}}
    found = row(
        chat(1, asked(), json.dumps([calling("c1", "weather", OSLO)])),
        openinference_tool(2, input_value="Oslo", output_value=json.dumps(output)),
    )
    assert found["steps"] == STEPS[:1]


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_bare_text_is_the_only_argument_of_the_call(order: tuple[int, int]) -> None:
    """Also of a call that failed, so that nothing else tells which it is."""
    found = row(
        chat(order[0], asked(), json.dumps([calling("c1", "weather", OSLO)])),
        openinference_tool(order[1], input_value="Oslo"),
        chat(3, asked(calling("c1", "weather", OSLO)), DONE),
    )
    assert [(step["tool"], step["arguments"]) for step in found["steps"]] == [("weather", OSLO)]


def test_switches_beside_the_arguments_of_a_function_are_no_arguments() -> None:
    wrapped = {"args": [], "sanitize_inputs_outputs": True, "kwargs": OSLO}
    found = row(openinference_tool(1, input_value=json.dumps(wrapped), output_value="sun"))
    assert found["steps"] == STEPS[:1]


def test_a_result_heard_before_its_call_gets_the_tool_of_the_call() -> None:
    """As where the span of a cycle around the calls repeats their results."""
    found = row(
        chat(1, asked(), json.dumps(answers("a", "b"))),
        chat(2, asked(), json.dumps([calls("a", "b")])),
        tool(3, "weather", OSLO, [{"text": "sun"}], call="a"),
        chat(4, asked(calls("a", "b"), *answers("a", "b")), DONE),
    )
    assert found["steps"] == STEPS


@pytest.mark.parametrize(
    ("blocks", "result"),
    [
        ([{"text": "sun"}], "sun"),
        ([{"json": {"t": 7}}], {"t": 7}),
        ([{"text": "sun", "type": "text"}], [{"text": "sun", "type": "text"}]),
        ([], []),
    ],
)
def test_blocks_of_bedrock_around_a_result_are_taken_away(blocks: Any, result: Any) -> None:
    assert row(tool(1, "weather", OSLO, blocks, call="a"))["steps"][0]["result"] == result


@pytest.mark.parametrize("is_error", [False, True])
@pytest.mark.parametrize("family", ["openinference", "traceloop"])
def test_a_tool_output_of_llama_index_is_a_call_with_its_result(
    family: str, is_error: bool
) -> None:
    said = {
        "blocks": [{"block_type": "text", "text": "sun"}],
        "tool_name": "weather",
        "raw_input": {"args": [], "kwargs": OSLO},
        "raw_output": "sun",
        "is_error": is_error,
    }
    asked_of, given = json.dumps({"kwargs": OSLO}), json.dumps(said)
    run = openinference_tool(2, input_value=asked_of, output_value=given)
    if family == "traceloop":
        run["attributes"] = {
            "traceloop.span.kind": "task",
            "traceloop.entity.input": asked_of,
            "traceloop.entity.output": given,
        }
    found = row(chat(1, asked(), json.dumps([calling("c1", "weather", OSLO)])), run)
    [step] = found["steps"]
    assert (step["tool"], step["arguments"]) == ("weather", OSLO)
    assert step["result"] == ({"status": "error", "output": "sun"} if is_error else "sun")


def test_blocks_as_json_text_in_spread_messages_are_blocks() -> None:
    """Results stand in a user message, which says nothing of the user's."""
    results = [{"type": "tool_result", "tool_use_id": "c1", "content": "sun"}]
    text = [{"type": "text", "text": "Sun."}]
    first = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": ASK[1],
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.tool_calls.0.id": "c1",
        "gen_ai.completion.0.tool_calls.0.name": "weather",
        "gen_ai.completion.0.tool_calls.0.arguments": json.dumps(OSLO),
    }
    second = {
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": ASK[1],
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": json.dumps(results),
        "gen_ai.completion.0.content": json.dumps(text),
    }
    found = row(span(1, first), span(2, second))
    assert (found["steps"], found["final_text"]) == (STEPS[:1], "Sun.")


def test_json_that_a_user_wrote_stays_the_users_words() -> None:
    said = '[{"type": "sofa", "text": "red"}]'
    found = row(span(1, {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": said}))
    assert found["prompt"] == said


@pytest.mark.parametrize("key", ["system", "instructions"])
def test_instructions_beside_the_messages_of_a_request_are_kept(key: str) -> None:
    request = {key: "Be brief.", "messages": [{"role": "user", "content": ASK[1]}]}
    attributes = {"mlflow.spanType": '"CHAT_MODEL"', "mlflow.spanInputs": json.dumps(request)}
    assert row(span(1, attributes))["system"] == "Be brief."


def counted(number: int, response: str | None, **fields: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.usage.input_tokens": 50,
        "gen_ai.usage.output_tokens": 10,
    }
    if response is not None:
        attributes["gen_ai.response.id"] = response
    return span(number, attributes, **fields)


def test_two_tracers_of_one_model_call_count_it_once() -> None:
    """As when a client traces itself and an instrumentor traces it too."""
    told = counted(1, "msg_1")
    told["attributes"] |= {"gen_ai.input.messages": asked(), "gen_ai.output.messages": DONE}
    found = row(told, counted(2, "msg_1"), counted(3, "msg_2"))
    assert found["usage"] == {"input_tokens": 100, "output_tokens": 20}


def test_a_call_without_messages_in_the_time_of_one_with_them_counts_once() -> None:
    told = counted(1, None, endTimeUnixNano=9)
    told["attributes"] |= {"gen_ai.input.messages": asked(), "gen_ai.output.messages": DONE}
    silent = counted(2, "msg_1", endTimeUnixNano=8)
    later = counted(10, "msg_2", endTimeUnixNano=12)
    assert row(told, silent, later)["usage"] == {"input_tokens": 100, "output_tokens": 20}


def test_the_response_before_is_no_name_of_the_conversation() -> None:
    def call(number: int, before: str | None, response: str, given: str) -> dict[str, Any]:
        made = chat(number, given, DONE, **parent(9))
        made["attributes"] |= {"gen_ai.response.id": response}
        if before:
            made["attributes"]["gen_ai.conversation.id"] = before
        return made

    later = messages(("user", "And Bergen?"))
    found = row(
        call(1, "resp_1", "resp_2", asked()),
        call(2, "resp_2", "resp_3", json.dumps(answers("call_1", "call_2")[:1])),
        call(3, "resp_3", "resp_4", later),
    )
    assert found["conversation_id"] == "resp_1"
    assert found["steps"][-1] == {"user": "And Bergen?"}


def test_a_call_by_two_tracers_of_one_agent_is_no_other_agents() -> None:
    found = row(
        span(9, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "travel"}),
        chat(10, asked(), DONE, **parent(9)),
        tool(11, "weather", OSLO, "sun", **parent(9)),
        tool(12, "weather", None, None, **parent(11)),
    )
    assert found["steps"] == STEPS[:1]


def logfire(number: int, template: str, **fields: Any) -> dict[str, Any]:
    above = fields.pop("above", None)
    attributes = {"logfire.msg_template": template, **fields}
    return span(number, attributes, name=template, **(parent(above) if above else {}))


def test_agents_under_logfire_keep_answers_failures_and_agents_in_tools_apart() -> None:
    model = "Chat completion with {gen_ai.request.model!r}"
    request = json.dumps({"messages": [{"role": "user", "content": "Ask Bo."}]})
    found = row(
        logfire(1, "Agent run: {name!r}"),
        logfire(
            2,
            model,
            input=messages(("user", "Ask Bo.")),
            output=json.dumps([calling("c1", "ask_bo", {"q": "Why?"})]),
            request_data=request,
            above=1,
        ),
        logfire(3, "Function: {name}", input='{"q": "Why?"}', output="So.", above=1)
        | {"status": {"code": 2}},
        logfire(4, model, input=messages(("user", "Why?")), output=DONE, above=3),
        logfire(
            5, model, input=messages(("user", "Ask Bo.")), output=messages(("assistant", "So."))
        ),
    )
    assert (found["prompt"], found["final_text"]) == ("Ask Bo.", "So.")
    [step] = [step for step in found["steps"] if step["tool"] == "ask_bo"]
    assert step["arguments"] == {"q": "Why?"}
    assert not [step for step in found["steps"] if "user" in step]


def test_a_system_prompt_of_its_own_attribute_is_kept() -> None:
    agent = span(1, {"gen_ai.operation.name": "invoke_agent", "system_prompt": "Be brief."})
    assert row(agent, chat(2, asked(), DONE))["system"] == "Be brief."


def agents_record(number: int, data: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "object": "trace.span",
        "id": f"span_{number}",
        "trace_id": "trace_1",
        "parent_id": None,
        "started_at": f"2026-11-29T21:00:{number:02}.000000+00:00",
        "ended_at": f"2026-11-29T21:00:{number:02}.500000+00:00",
        "span_data": data,
        "error": None,
        **fields,
    }


def test_the_agents_sdks_own_export_is_one_conversation_by_its_group() -> None:
    usage = {"input_tokens": 50, "output_tokens": 10}
    generation = {"type": "generation", "model": "m", "usage": usage}
    called = [calling("c1", "weather", OSLO)]
    given = [{"role": "user", "content": ASK[1]}]
    answered = [*given, *called, {"role": "tool", "tool_call_id": "c1", "content": "sorry"}]
    found = row(
        {"object": "trace", "id": "trace_1", "workflow_name": "w", "group_id": "g"},
        agents_record(1, {"type": "agent", "name": "travel"}),
        agents_record(2, {**generation, "input": given, "output": called}, parent_id="span_1"),
        agents_record(
            3,
            {"type": "function", "name": "weather", "input": json.dumps(OSLO), "output": "sorry"},
            parent_id="span_1",
            error={"message": "no sun", "data": {}},
        ),
        agents_record(
            4,
            {**generation, "input": answered, "output": [{"role": "assistant", "content": "No."}]},
            parent_id="span_1",
        ),
        agents_record(5, {"type": "handoff", "from_agent": "travel", "to_agent": None}),
    )
    assert (found["conversation_id"], found["agent"], found["model_version"]) == (
        "g",
        "travel",
        "m",
    )
    result = {"status": "error", "output": "sorry", "error": "no sun"}
    assert found["steps"] == [{"tool": "weather", "arguments": OSLO, "result": result}]
    assert found["final_text"] == "No."
    assert found["usage"] == {"input_tokens": 100, "output_tokens": 20}
