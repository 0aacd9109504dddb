"""Tools as other producers declare them, and calls as other producers write them in steps."""

from __future__ import annotations

from typing import Any

import pytest

from whileai_core import infer_harness, load_traces, opening_share, tools_from_traces, trace_report
from whileai_core.traces.dimensions import build_dimensions

FIELDS = {"type": "object", "properties": {"order_id": {"type": "string"}}}


@pytest.mark.parametrize(
    "tools",
    [
        {"toolSpec": {"name": "find", "inputSchema": {"json": FIELDS}}},
        [{"toolSpec": {"name": "find", "inputSchema": {"json": FIELDS}}}],
        [{"functionDeclarations": [{"name": "find", "parameters": FIELDS}]}],
        {"tools": [{"name": "find", "inputSchema": FIELDS}]},
    ],
    ids=["Bedrock", "Bedrock list", "Gemini", "MCP"],
)
def test_wrapped_declarations(tools: Any) -> None:
    axes = build_dimensions(tools)
    assert axes["tool"] == ["find", "unrelated", "multi_tool"]
    assert len(axes["world_state"]) == 6
    rows = [{"prompt": "p", "final_text": "x", "steps": [{"tool": "find", "result": "ok"}]}]
    assert "foreign_tools" not in trace_report(rows, tools)


@pytest.mark.parametrize(
    "parameter",
    [
        {"anyOf": [FIELDS, {"type": "null"}]},
        {"allOf": [{"$ref": "#/$defs/Order"}]},
        {"$ref": "#/$defs/Order"},
        {"type": "array", "items": {"$ref": "#/$defs/Order"}},
    ],
    ids=str,
)
def test_references_inside_composed_parameters(parameter: dict[str, Any]) -> None:
    order = {**FIELDS, "properties": {**FIELDS["properties"], "next": {"$ref": "#/$defs/Order"}}}
    schema = {"$defs": {"Order": order}, "properties": {"what": parameter}}
    assert len(build_dimensions({"name": "t", "parameters": schema})["world_state"]) == 6
    lonely = {"properties": {"what": {"$ref": "#/$defs/Gone"}}}
    assert build_dimensions({"name": "t", "parameters": lonely})["world_state"] == ["unspecified"]


def test_a_policy_may_be_missing_and_a_cap_nothing() -> None:
    assert build_dimensions([], "")["rule"] == ["unspecified"]
    assert build_dimensions([], "Be kind to people.", rule_cap=-1)["rule"] == ["unspecified"]


@pytest.mark.parametrize(
    "step",
    [
        {"name": "find", "arguments": '{"order_id": "B-1"}'},
        {"tool_name": "find", "tool_input": {"order_id": "B-1"}},
        {"function": {"name": "find", "arguments": '{"order_id": "B-1"}'}, "id": "1"},
        {"action": "find", "action_input": {"order_id": "B-1"}},
        {"type": "tool_use", "name": "find", "input": {"order_id": "B-1"}},
    ],
    ids=str,
)
def test_calls_in_steps_of_other_spellings(step: dict[str, Any]) -> None:
    rows = [{"prompt": "p", "steps": [{"text": "One moment."}, step], "final_text": "x"}]
    (tool,) = tools_from_traces(rows)
    assert list(tool["function"]["parameters"]["properties"]) == ["order_id"]
    assert infer_harness(rows)["observed_calls"] == {"find": 1}
    (row,) = load_traces(rows)
    assert (row["steps"][1]["tool"], row["steps"][1]["arguments"]) == ("find", {"order_id": "B-1"})


@pytest.mark.parametrize("key", ["messages", "conversations", "chat_history", "turns", "prompt"])
def test_who_opens_is_seen_under_every_key(key: str) -> None:
    turns = [{"role": "assistant", "content": "Welcome"}, {"role": "user", "content": "hi"}]
    assert opening_share([{key: turns}]) == 1.0
    assert opening_share([{"messages": [], "steps": [], key: turns}]) == 1.0
