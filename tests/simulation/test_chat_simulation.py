"""Whole simulations with a chat endpoint over loopback, and what ends them early."""

from __future__ import annotations

import functools

import anyio
import pytest
from chat_server import REPEAT

from whileai_core import ChatEndpoint, Spend, evaluate, simulate
from whileai_core.simulation.demo import TOOLS

AGENT = {"brain": "agent"}


def run(agent, **options):
    options = {"tools": TOOLS, "budget": 24, "user_model": options.pop("user", None)} | options
    return anyio.run(functools.partial(simulate, agent, **options))


def endpoint(chat, model="agent"):
    return ChatEndpoint(chat.url, model)


@pytest.fixture
def models(chat):
    chat.script("agent", AGENT, REPEAT)
    chat.script("user", "I mean ORD-7001.", REPEAT)
    return chat


def comparable(rows):
    return [{key: value for key, value in row.items() if key != "ts"} for row in rows]


def test_tools_faults_followups_and_usage_are_on_the_rows(models):
    spend = Spend()
    data = run(endpoint(models), user=endpoint(models, "user"), spend=spend, fault_rate=1.0)
    assert (len(data.rows), data.stopped_because) == (24, "budget")
    for row in data.rows:
        assert (row["model_version"], row["user_model"]) == ("agent", "user")
        assert row["sampling"]["model"] == "agent"
        assert row["finish_reason"] == "stop"
        turns = [step for step in row["steps"] if "input_tokens" in step]
        assert row["usage"]["input_tokens"] == sum(step["input_tokens"] for step in turns)
        assert row["messages"][-1] == {"role": "assistant", "content": row["final_text"]}
    assert any("faults" in row for row in data.rows)
    followed = [row for row in data.rows if {"user": "I mean ORD-7001."} in row["steps"]]
    assert followed
    assert spend.report()["calls_by_role"].keys() == {"agent", "user"}
    assert data.search["spend"] == spend.report()


def test_the_same_rows_at_any_concurrency(models):
    users = endpoint(models, "user")
    one, many = (run(endpoint(models), user=users, concurrency=n) for n in (1, 24))
    assert comparable(one.rows) == comparable(many.rows)


def test_a_model_writes_the_prompts(models):
    models.script("writer", {"brain": "writer"}, REPEAT)
    data = run(endpoint(models), simulator=endpoint(models, "writer"), budget=12)
    written = [row for row in data.rows if row["writer_model"] == "writer"]
    assert len(written) > 6
    assert all(row["prompt"].startswith("Help me about") for row in written)
    assert "writer_fell_back" not in data.degraded


def test_a_writer_without_words_is_stood_in_for_and_that_is_said(models):
    models.script("writer", "no JSON", REPEAT)
    data = run(endpoint(models), simulator=endpoint(models, "writer"), budget=6)
    assert len(data.rows) == 6
    assert "writer_fell_back" in data.degraded


def test_an_endpoint_that_dies_ends_the_run_with_what_landed(models):
    models.script("agent", *[AGENT] * 20, {"status": 401, "error": {"message": "revoked"}}, REPEAT)
    data = run(endpoint(models), user=endpoint(models, "user"), concurrency=1)
    assert data.stopped_because == "endpoint_dead"
    assert 0 < len(data.rows) < 20
    assert any("revoked" in warning for warning in data.warnings)


def test_an_endpoint_that_was_never_there_gives_no_rows_and_says_so():
    data = run(ChatEndpoint("http://127.0.0.1:9", "agent"))
    assert (data.stopped_because, len(data.rows)) == ("endpoint_dead", 0)
    assert any("127.0.0.1:9" in warning for warning in data.warnings)


def test_a_budget_of_calls_ends_the_run_with_what_landed(models):
    spend = Spend(max_calls=15)
    data = run(endpoint(models), user=endpoint(models, "user"), spend=spend)
    assert data.stopped_because == "spend_exhausted"
    assert spend.report()["calls"] == 15
    assert any("max_calls" in warning for warning in data.warnings)


def test_faults_of_single_calls_cost_single_tries(models):
    broken = {"status": 400, "error": {"message": "context too long"}}
    models.script("agent", broken, "", {"text": "[TOOL_CALLS]"}, *[AGENT] * 200)
    data = run(endpoint(models), user=endpoint(models, "user"), concurrency=1, budget=8)
    assert (len(data.rows), data.stopped_because) == (8, "budget")


def test_simulate_then_judge_by_rubric_within_one_budget(models):
    models.script("judge", '{"reward": 1, "reason": "fine"}', REPEAT)
    spend = Spend(max_calls=200)
    data = run(endpoint(models), user=endpoint(models, "user"), spend=spend, budget=8)
    scored = anyio.run(
        functools.partial(evaluate, data.rows, endpoint(models, "judge"), spend=spend, tools=TOOLS)
    )
    assert len(scored.passes()) == 8
    assert spend.report()["calls_by_role"]["judge"] == 8
