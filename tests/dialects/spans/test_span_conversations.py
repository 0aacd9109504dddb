"""What belongs to one conversation, and what in it is said or done once."""

from __future__ import annotations

import json

from span_kit import TRACE, calling, chat, messages, parent, span, tool, tools, users

from whileai_core.dialects.otel import rows_from_otel


def test_histories_are_aligned_by_position_so_that_equal_answers_are_turns() -> None:
    first = [("user", "Book it"), ("assistant", "Sure?")]
    second = [*first, ("user", "yes"), ("assistant", "Really?")]
    [row] = rows_from_otel(
        [
            chat(1, messages(first[0]), messages(first[1])),
            chat(2, messages(*second[:3]), messages(second[3])),
            chat(3, messages(*second, ("user", "yes")), messages(("assistant", "Booked."))),
        ]
    )
    assert (row["prompt"], users(row), row["final_text"]) == ("Book it", ["yes", "yes"], "Booked.")


def test_a_history_whose_beginning_was_cut_adds_only_what_is_new() -> None:
    [row] = rows_from_otel(
        [
            chat(1, messages(("user", "a"), ("assistant", "1"), ("user", "b")), "2"),
            chat(2, messages(("user", "b"), ("assistant", "2"), ("user", "c")), "3"),
            chat(3, messages(("user", "summary so far"), ("user", "c"), ("user", "d")), "4"),
        ]
    )
    assert [row["prompt"], *users(row)] == ["a", "b", "c", "d"]


def test_the_loop_of_one_trace_repeats_a_turn_and_another_trace_brings_a_new_one() -> None:
    loop = [chat(1, messages(("user", "again"))), chat(2, messages(("user", "again")), "1")]
    other = chat(3, messages(("user", "again")), "2", traceId="ab" * 16)
    for item in (*loop, other):
        item["attributes"]["session.id"] = "s"
    [row] = rows_from_otel([*loop, other])
    assert (row["prompt"], users(row), row["final_text"]) == ("again", ["again"], "2")


def test_a_tool_loop_spread_over_traces_is_one_turn() -> None:
    call = calling("c1", "rate", {"pair": "EURUSD"})
    history = [{"role": "user", "content": "Rate?"}, call]
    answer = {"role": "tool", "tool_call_id": "c1", "content": '{"rate": 1.09}'}
    spans = [
        chat(1, json.dumps(history[:1]), json.dumps([call])),
        chat(2, json.dumps([*history, answer]), "1.09", traceId="ab" * 16),
    ]
    for item in spans:
        item["attributes"]["gen_ai.conversation.id"] = "k"
    [row] = rows_from_otel(spans)
    assert users(row) == []
    assert tools(row) == [("rate", {"pair": "EURUSD"}, {"rate": 1.09})]


def test_a_call_in_messages_and_in_a_span_is_one_step_by_id_or_by_content() -> None:
    for call_id in ("c9", None):
        call = calling(call_id, "weather", {"city": "Graz"})
        asked = {"role": "user", "content": "Weather?"}
        [row] = rows_from_otel(
            [
                chat(1, json.dumps([asked]), json.dumps([call])),
                tool(2, "weather", {"city": "Graz"}, {"temp": 21}, call=call_id),
                chat(3, json.dumps([asked, call]), "21"),
            ]
        )
        assert tools(row) == [("weather", {"city": "Graz"}, {"temp": 21})]


def test_parallel_calls_find_their_results_by_id() -> None:
    calls = [calling(c, "get", {"n": n}) for c, n in (("a", 1), ("b", 2))]
    both = calls[0] | {"tool_calls": [call["tool_calls"][0] for call in calls]}
    answers = [
        {"role": "tool", "tool_call_id": c, "content": content}
        for c, content in (("b", "two"), ("a", "one"))
    ]
    [row] = rows_from_otel(
        [
            chat(1, messages(("user", "Both")), json.dumps([both])),
            chat(2, json.dumps([{"role": "user", "content": "Both"}, both, *answers]), "done"),
        ]
    )
    assert tools(row) == [("get", {"n": 1}, "one"), ("get", {"n": 2}, "two")]


def test_equal_calls_in_one_history_are_as_many_steps_as_the_history_shows() -> None:
    poll = calling(None, "poll", {"job": 1})
    asked = {"role": "user", "content": "Wait for it"}
    [row] = rows_from_otel(
        [
            chat(1, json.dumps([asked]), json.dumps([poll])),
            chat(2, json.dumps([asked, poll]), json.dumps([poll])),
            chat(3, json.dumps([asked, poll, poll]), "Done."),
        ]
    )
    assert [name for name, _, _ in tools(row)] == ["poll", "poll"]


def test_two_instrumentations_of_one_call_are_one_step() -> None:
    outer = tool(1, "f", {"a": 1})
    inner = span(
        2,
        {
            "openinference.span.kind": "TOOL",
            "tool.name": "f",
            "input.value": '{"a": 1}',
            "output.value": "42",
        },
        **parent(1),
    )
    [row] = rows_from_otel([outer, inner])
    assert tools(row) == [("f", {"a": 1}, "42")]


def test_a_span_delivered_twice_counts_once_and_the_fuller_delivery_is_kept() -> None:
    early = chat(1, messages(("user", "q")))
    late = chat(1, messages(("user", "q")), "answer", endTimeUnixNano=9)
    late["attributes"]["gen_ai.usage.input_tokens"] = 7
    for order in ([early, late, late], [late, early, late]):
        [row] = rows_from_otel(order)
        assert row["final_text"] == "answer"
        assert row["usage"] == {"input_tokens": 7, "output_tokens": 0}


def test_a_span_without_id_takes_the_nearest_ancestors_conversation() -> None:
    rows = rows_from_otel(
        [
            span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "main"}),
            chat(2, messages(("user", "Plan my move")), "On it.", **parent(1)),
            span(
                3,
                {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "scout"},
                **parent(1),
            ),
            span(4, {"http.method": "GET"}, **parent(3)),
            chat(5, messages(("user", "Find vans")), "3 vans", **parent(4)),
        ]
    )
    assert [(row["conversation_id"], row["prompt"]) for row in rows] == [
        ("main", "Plan my move"),
        ("scout", "Find vans"),
    ]
    assert rows[0]["trace_id"] == TRACE


def test_what_is_said_inside_a_tool_call_is_not_said_to_the_user() -> None:
    [row] = rows_from_otel(
        [
            chat(1, messages(("user", "Plan my move"))),
            tool(2, "task", {"goal": "find vans"}, "3 vans"),
            span(
                3,
                {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "scout"},
                **parent(2),
            ),
            chat(4, messages(("user", "You are the van finder.")), "3 vans found", **parent(3)),
            tool(5, "search", {"q": "vans"}, "[]", **parent(3)),
        ]
    )
    assert (row["prompt"], users(row), row["final_text"]) == ("Plan my move", [], "")
    assert [(step["tool"], step.get("agent")) for step in row["steps"]] == [
        ("task", None),
        ("search", "scout"),
    ]


def test_a_trace_that_is_all_inside_one_tool_call_still_tells_what_was_said() -> None:
    [row] = rows_from_otel(
        [
            tool(1, "serve", {"q": 1}, "ok"),
            chat(2, messages(("user", "Summarise 1")), "One.", **parent(1)),
        ]
    )
    assert (row["prompt"], row["final_text"]) == ("Summarise 1", "One.")


def test_tokens_count_once_over_agents_and_nested_model_spans() -> None:
    def counted(number: int, kind: str, tokens: int, **fields: object) -> dict[str, object]:
        attributes = {"gen_ai.operation.name": kind, "gen_ai.usage.input_tokens": tokens}
        return span(number, attributes, **fields)

    ask = chat(9, messages(("user", "q")))
    nested = [counted(1, "invoke_agent", 30), counted(2, "chat", 10, **parent(1))]
    nested += [counted(3, "chat", 20, **parent(1)), counted(4, "chat", 20, **parent(3))]
    beside = [
        counted(1, "invoke_agent", 30, endTimeUnixNano=8),
        counted(2, "chat", 10),
        counted(3, "chat", 20),
    ]
    alone = [counted(1, "invoke_agent", 30)]
    for spans in (nested, beside, alone):
        [row] = rows_from_otel([*spans, ask])
        assert row["usage"] == {"input_tokens": 30, "output_tokens": 0}


def test_a_failed_span_is_a_failed_call_with_its_message() -> None:
    exception = {"name": "exception", "attributes": {"exception.message": "boom"}}
    variants = [
        tool(1, "f", {}, "partial", status={"code": 2, "message": "timed out"}),
        tool(1, "f", {}, "partial", status={"status_code": "ERROR"}, events=[exception]),
        tool(1, "f", {}, {"status": "ok"}, status={"code": "STATUS_CODE_ERROR"}),
        tool(1, "f", {}, "partial")
        | {"attributes": tool(1, "f", {})["attributes"] | {"error.type": "E"}},
    ]
    results = [rows_from_otel([variant])[0]["steps"][0]["result"] for variant in variants]
    assert [result["status"] for result in results] == ["error"] * 4
    assert [result.get("error") for result in results] == ["timed out", "boom", None, "E"]
    [fine] = rows_from_otel([tool(1, "f", {}, {"status": "paid"})])
    assert fine["steps"][0]["result"] == {"status": "paid"}


def test_spans_without_trace_and_conversation_stay_apart_by_root() -> None:
    spans = [
        {"attributes": {"gen_ai.prompt": "a", "gen_ai.completion": "1"}},
        {"attributes": {"gen_ai.prompt": "b", "gen_ai.completion": "2"}},
        {"span_id": "r", "attributes": {"gen_ai.prompt": "c"}},
        {"span_id": "k", "parent_id": "r", "attributes": {"gen_ai.completion": "3"}},
    ]
    rows = rows_from_otel(spans)
    assert [(row["prompt"], row["final_text"]) for row in rows] == [
        ("a", "1"),
        ("b", "2"),
        ("c", "3"),
    ]
    assert len({row["conversation_id"] for row in rows}) == 3
    assert all(row["conversation_id"].startswith("span:") for row in rows)


def test_spans_in_a_circle_end_and_keep_what_they_say() -> None:
    [row] = rows_from_otel(
        [
            chat(1, messages(("user", "a")), **parent(2)),
            chat(2, messages(("user", "a")), "b", **parent(1)),
            tool(3, "f", {}, "1", **parent(3)),
        ]
    )
    assert row["prompt"] == "a"
    assert [name for name, _, _ in tools(row)] == ["f"]


def test_the_first_usable_reward_in_time_wins_and_names_its_source() -> None:
    ask = chat(1, messages(("user", "q")))
    ask["attributes"]["whileai.reward"] = "NaN"
    graded = span(2, {"score": 0.25, "whileai.reward": True})
    late = span(3, {"whileai.reward": 0})
    [row] = rows_from_otel([late, graded, ask])
    assert (row["reward"], row["reward_source"]) == (1, "whileai.reward")
    [row] = rows_from_otel([late, graded, ask], reward_keys=("score", "whileai.reward"))
    assert (row["reward"], row["reward_source"]) == (0.25, "score")


def test_evaluation_events_are_scores_beside_the_reward() -> None:
    event = {
        "name": "gen_ai.evaluation.result",
        "attributes": {"gen_ai.evaluation.name": "tone", "gen_ai.evaluation.score.value": 0.5},
    }
    [row] = rows_from_otel([chat(1, messages(("user", "q")), events=[event])])
    assert row["scores"] == {"tone": 0.5}
    assert "reward" not in row


def test_rows_name_system_agent_model_and_tools() -> None:
    ask = chat(1, messages(("system", "Be brief."), ("user", "q")), "a")
    ask["attributes"] |= {
        "gen_ai.agent.name": "desk",
        "gen_ai.request.model": "mini-3",
        "zeroproof.model_version": "round-3",
        "gen_ai.tool.definitions": '[{"type": "function", "name": "f"}]',
    }
    [row] = rows_from_otel([ask])
    assert row["system"] == "Be brief."
    assert (row["agent"], row["model"], row["model_version"]) == ("desk", "mini-3", "round-3")
    assert row["tools"] == [{"type": "function", "name": "f"}]
