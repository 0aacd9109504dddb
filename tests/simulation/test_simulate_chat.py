"""Runs with models behind a chat endpoint: the agent, its user, the writer; and their ends."""

from __future__ import annotations

import anyio
import pytest
from chat_server import REPEAT, ChatServer
from shop import TOOLS, clerk, results, without_times

from whileai_core import ChatEndpoint, simulate
from whileai_core.simulation.spend import Spend


def run(agent, **options):
    async def go():
        return await simulate(agent, tools=TOOLS, **options)

    return anyio.run(go)


def test_what_a_chat_agent_does_is_on_its_rows(chat):
    chat.script("agent", {"brain": "agent", "usage": [10, 5]}, REPEAT)
    chat.script("user", "It is ORD-5555.", REPEAT)
    data = run(
        ChatEndpoint(chat.url, "agent"),
        user_model=ChatEndpoint(chat.url, "user"),
        system_prompt="Help with orders.",
        budget=48,
        temperature=0.3,
        concurrency=8,
    )
    assert (len(data.rows), data.stopped_because) == (48, "budget")
    for row in data:
        assert (row["model_version"], row["user_model"]) == ("agent", "user")
        assert row["sampling"]["temperature"] == 0.3
        assert row["usage"]["input_tokens"] > 0
        assert row["finish_reason"] == "stop"
        assert row["messages"][-1]["content"] == row["final_text"]
        assert [turn for turn in row["messages"] if turn.get("content") == row["final_text"]][
            1:
        ] == []
    assert any("user" in step for row in data for step in row["steps"])
    assert any(answer["status"] == "ok" for row in data for answer in results(row))
    assert any(
        answer["status"] == "timeout" and row["faults"] for row in data for answer in results(row)
    )


def test_a_model_writes_the_prompts_and_they_are_kept_for_a_resume(chat, tmp_path):
    chat.script("writer", {"brain": "writer"}, REPEAT)
    writer = ChatEndpoint(chat.url, "writer")
    path = tmp_path / "run.jsonl"
    data = run(clerk, simulator=writer, budget=24, checkpoint=path)
    assert len(data.rows) == 24
    assert {row["writer_model"] for row in data if row["arm"] == "structured"} == {"writer"}
    chat.forget()
    again = run(clerk, simulator=writer, budget=24, checkpoint=path)
    assert without_times(again.rows) == without_times(data.rows)
    assert not chat.seen


def test_where_the_writer_writes_nothing_usable_templates_do_and_it_is_said(chat):
    chat.script("writer", "I would rather not.", REPEAT)
    data = run(clerk, simulator=ChatEndpoint(chat.url, "writer"), budget=12)
    assert len(data.rows) == 12
    assert "writer_fell_back" in data.degraded
    assert "template" in {row["writer_model"] for row in data}


@pytest.mark.slow
def test_an_endpoint_that_dies_ends_the_run_with_what_landed():
    server = ChatServer()
    server.script("agent", {"brain": "agent"}, REPEAT)

    def kill(progress):
        if progress["rows"] == 5:
            server.kill()

    try:
        data = run(
            ChatEndpoint(server.url, "agent"), budget=60, concurrency=2, on_progress=kill, timeout=5
        )
    finally:
        server.close()
    assert data.stopped_because == "endpoint_dead"
    assert 5 <= len(data.rows) < 60
    assert data.warnings


def test_a_used_up_budget_ends_the_run_with_what_landed(chat):
    chat.script("agent", "Which order?", REPEAT)
    spend = Spend(max_calls=20)
    data = run(ChatEndpoint(chat.url, "agent"), budget=60, max_turns=1, spend=spend, concurrency=4)
    assert data.stopped_because == "spend_exhausted"
    assert 0 < len(data.rows) <= 20
    assert data.search["spend"]["calls"] == 20
