from __future__ import annotations

import pytest

from whileai_core import build_dimensions, dimensions_from_traces
from whileai_core.traces.toolset import tool_of_function, tool_schemas


def failed(status, tool="find"):
    return {
        "prompt": status,
        "steps": [{"tool": tool, "arguments": {}, "result": {"status": status}}],
    }


def lookup(order_id: str, depth: int | None = None, *rest: str, tags: list[str] = ()) -> dict:
    """Look up one order."""
    return {}


def has_records(properties):
    axis = build_dimensions([{"name": "t", "parameters": {"properties": properties}}])[
        "world_state"
    ]
    return axis != ["unspecified"]


@pytest.mark.parametrize(
    "properties",
    [
        {"order_id": {}},
        {"ID": {}},
        {"orderId": {}},
        {"q": {"type": "object", "properties": {"file_path": {}}}},
        {"q": {"type": ["object", "null"], "properties": {"sku": {}}}},
        {"q": {"type": "array", "items": {"type": "object", "properties": {"id": {}}}}},
    ],
)
def test_reference_parameters_bring_world_states(properties):
    assert has_records(properties)


@pytest.mark.parametrize(
    "properties",
    [{}, {"valid": {}}, {"topic": {"type": "string", "properties": {"id": {}}}}, {"q": 1}],
)
def test_other_parameters_do_not(properties):
    assert not has_records(properties)


def test_tools_in_every_spelling_are_on_the_axis():
    class Tool:
        name = "object_tool"
        input_schema = {"properties": {"id": {}}}  # noqa: RUF012 - what tool objects look like

    tools = [
        {"name": " a "},
        {"function": {"name": "b"}},
        {"function": None, "name": "c"},
        lookup,
        Tool(),
    ]
    assert build_dimensions([*tools, None, 7])["tool"] == [
        "a", "b", "c", "lookup", "object_tool", "unrelated", "multi_tool",
    ]  # fmt: skip
    assert tool_schemas(Tool())[0]["parameters"] == {"properties": {"id": {}}}
    assert has_records(tool_of_function(lookup)["parameters"]["properties"])


def test_a_function_is_drafted_from_its_signature():
    assert tool_of_function(lookup) == {
        "name": "lookup",
        "description": "Look up one order.",
        "parameters": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string"},
                "depth": {"type": "integer"},
                "tags": {"type": "array"},
            },
            "required": ["order_id"],
        },
    }


def test_rule_cap_comes_from_argument_or_setting(monkeypatch, caplog):
    policy = "- Never lie to users.\n- Always cite pages.\n- Log every change."
    assert len(build_dimensions([], policy)["rule"]) == 3
    assert build_dimensions([], policy, rule_cap=0)["rule"] == ["unspecified"]
    assert build_dimensions([], policy, rule_cap=1)["rule"] == ["Never lie to users."]
    assert "the grid keeps the first 1" in caplog.text
    monkeypatch.setenv("ZP_RULE_CAP", "2")
    assert len(build_dimensions([], policy)["rule"]) == 2


def test_aimed_axes_hold_each_value_once_most_frequent_first():
    rows = [
        failed("timeout"),
        failed("error"),
        failed("denied"),
        failed("denied"),
        failed("denied"),
    ]
    axes = dimensions_from_traces(
        rows, [{"name": "find", "parameters": {"properties": {"id": {}}}}]
    )
    assert axes["tool_condition"] == ["success", "permission_denied", "timeout"]


def test_http_codes_aim_like_their_words():
    axes = dimensions_from_traces(
        [failed(404), failed(403)], [{"name": "find", "parameters": {"properties": {"id": {}}}}]
    )
    assert axes["world_state"] == ["entity exists", "entity missing"]
    assert axes["tool_condition"] == ["success", "permission_denied"]


def test_observed_tools_come_first_and_narrow_drops_the_rest():
    tools = [{"name": name} for name in ("a", "b", "c")]
    rows = [failed("ok", "b"), failed("ok", "b"), failed("timeout", "c")]
    axis = dimensions_from_traces(rows, tools)["tool"]
    assert axis == ["c", "b", "a", "unrelated", "multi_tool"]
    assert dimensions_from_traces(rows, tools, broaden=False)["tool"][:2] == ["c", "b"]


def test_own_fault_map_replaces_the_default():
    axes = dimensions_from_traces(
        [failed("timeout")], [], fault_to_axis={"timeout": ["tool_condition", "stale_result"]}
    )
    assert axes["tool_condition"] == ["success", "stale_result"]


def test_an_empty_fault_map_aims_only_by_condition_names():
    axes = dimensions_from_traces([failed("timeout"), failed("denied")], [], fault_to_axis={})
    assert axes["tool_condition"] == ["success", "timeout"]
