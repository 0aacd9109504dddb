"""Agents, judges, improvers and tools by name, from allowed modules only."""

from __future__ import annotations

import sys

import anyio
import pytest

from whileai_core import ChatEndpoint, outcome_judge
from whileai_core.errors import InputError, SettingsError
from whileai_core.simulation import demo
from whileai_core.simulation.agents import AgentSpec
from whileai_core.simulation.improve import PromptImprover
from whileai_core.simulation.references import (
    load_reference,
    resolve_agent,
    resolve_improver,
    resolve_judge,
    resolve_tools,
)

SOURCE = """
import os
from subprocess import run
from whileai_core import outcome_judge

TOOLS = [{"name": "ping", "parameters": {}}]
NUMBER = 7

class Agent:
    def __call__(self, message):
        return "ok"

ready = Agent()

def support(message):
    return "ok"

async def judge(row):
    return True
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module of the user's own in the current folder, allowed."""
    (tmp_path / "reference_agents.py").write_text(SOURCE)
    (tmp_path / "reference_broken.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv(
        "WHILEAI_ALLOWED_IMPORTS", "reference_agents, reference_broken,reference_missing"
    )
    yield "reference_agents"
    for name in ("reference_agents", "reference_broken"):
        sys.modules.pop(name, None)


def test_functions_and_objects_of_an_allowed_module(module):
    assert resolve_agent(f"{module}:support")("hi") == "ok"
    assert resolve_agent(AgentSpec(f"{module}:ready", "Be kind."))("hi") == "ok"
    assert resolve_tools(f"{module}:TOOLS") == [{"name": "ping", "parameters": {}}]
    assert anyio.run(resolve_judge(f"{module}:judge"), {}) is True


def test_nothing_else_is_imported_or_given_out(module):
    for reference in ("os:system", "reference_agents_2:x", f"{module}:run"):
        with pytest.raises(SettingsError, match="WHILEAI_ALLOWED_IMPORTS"):
            load_reference(reference)
    for reference in (f"{module}:os.system", f"{module}", "", f"{module}:support()", ":x", "x:"):
        with pytest.raises(InputError, match="no reference"):
            load_reference(reference)
    for reference in (f"{module}:os", f"{module}:NUMBER", f"{module}:Agent"):
        with pytest.raises(InputError, match="called as agent"):
            resolve_agent(reference)


def test_what_is_not_there_is_said(module):
    with pytest.raises(InputError, match="has no nobody"):
        load_reference(f"{module}:nobody")
    with pytest.raises(InputError, match="no module reference_missing"):
        load_reference("reference_missing:x")
    with pytest.raises(InputError, match="ZeroDivisionError"):
        load_reference("reference_broken:x")
    with pytest.raises(InputError, match="list of tools"):
        resolve_tools(f"{module}:NUMBER")


def test_the_demo_and_the_judge_by_rule_are_always_allowed():
    assert resolve_agent("whileai_core.simulation.demo:flawed_agent") is demo.flawed_agent
    assert resolve_tools("whileai_core.simulation.demo:TOOLS") == demo.TOOLS
    assert resolve_judge("outcome") is outcome_judge
    with pytest.raises(SettingsError):
        load_reference("whileai_core.platform:purge_agent")


def test_endpoints_and_their_keys(monkeypatch):
    endpoint = resolve_agent("vllm:m@https://box.example", api_key="k1")
    assert isinstance(endpoint, ChatEndpoint)
    assert endpoint.api_key.get_secret_value() == "k1"
    monkeypatch.setenv("WHILEAI_ENDPOINT_KEY", "k2")
    assert resolve_judge("vllm:m@https://box.example").api_key.get_secret_value() == "k2"
    assert isinstance(resolve_improver("prompt@vllm:m@https://box.example"), PromptImprover)
    assert isinstance(resolve_improver("vllm:m@https://box.example"), PromptImprover)


def test_tools_may_be_given_as_they_are():
    assert resolve_tools(None) == []
    assert resolve_tools(demo.TOOLS) == demo.TOOLS
