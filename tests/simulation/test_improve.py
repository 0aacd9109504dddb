"""Improvers: any callable, and a model that rewrites the prompt from the failures."""

from __future__ import annotations

import functools

import anyio
import pytest

from whileai_core import ChatEndpoint, Spend
from whileai_core.errors import EndpointDead, InputError
from whileai_core.simulation.agents import AgentSpec
from whileai_core.simulation.improve import PromptImprover, as_improver

AGENT = AgentSpec("openai:gpt-x", "Be kind.")


def failure(number, **extra):
    return {
        "prompt": f"Cancel order {number}",
        "steps": [{"tool": "cancel", "arguments": {}, "result": {"status": "timeout"}}],
        "final_text": "Done!",
        "reason": 'claims success, "done"',
        **extra,
    }


def improved(chat, failures, spend=None):
    improver = PromptImprover(ChatEndpoint(chat.url, "improver"), spend)
    return anyio.run(improver, AGENT, failures)


def test_a_model_rewrites_the_prompt_from_what_failed(chat):
    chat.script("improver", "Here:\n<system_prompt>\nBe kind. Retry timeouts.\n</system_prompt>")
    spend = Spend()
    assert improved(chat, [failure(1)], spend) == AgentSpec(
        "openai:gpt-x", "Be kind. Retry timeouts."
    )
    content = chat.seen[0]["messages"][1]["content"]
    assert "<present>\nBe kind.\n</present>" in content
    assert "failed=\"claims success, 'done'\"" in content
    assert 'TOOL RESULT: {"status": "timeout"}' in content
    assert spend.report()["calls_by_role"] == {"improver": 1}


@pytest.mark.parametrize("text", ["No idea.", "<system_prompt> </system_prompt>", "x" * 50_000])
def test_an_answer_without_a_prompt_leaves_the_agent_as_it_is(chat, text):
    chat.script("improver", text)
    assert improved(chat, [failure(1)]) == AGENT


def test_without_failures_nobody_is_asked(chat):
    assert improved(chat, []) == AGENT
    assert chat.seen == []


def test_a_rare_failure_is_shown_beside_common_ones(chat):
    chat.script("improver", "-")
    common = [failure(number, failure_class="common") for number in range(40)]
    improved(chat, [*common, failure(77, failure_class="rare")])
    content = chat.seen[0]["messages"][1]["content"]
    assert "Cancel order 77" in content
    assert content.count("<conversation") == 12


def test_a_dead_endpoint_is_raised(chat):
    with pytest.raises(EndpointDead):
        improved(chat, [failure(1)])  # the server knows no such model


@pytest.mark.parametrize("returned", [AgentSpec("a", "b"), {"agent": "a", "system_prompt": "b"}])
@pytest.mark.parametrize("kind", ["sync", "async", "lambda of async"])
def test_callables_as_improvers(returned, kind):
    async def of_async(agent, failures):
        return returned

    functions = {
        "sync": lambda agent, failures: returned,
        "async": of_async,
        "lambda of async": lambda agent, failures: of_async(agent, failures),
    }
    improve = as_improver(functions[kind])
    assert anyio.run(improve, AGENT, []) == AgentSpec("a", "b")


def test_what_an_improver_may_not_return():
    improve = as_improver(lambda agent, failures: "be kind")
    with pytest.raises(InputError, match="expected an AgentSpec"):
        anyio.run(functools.partial(improve, AGENT, []))
