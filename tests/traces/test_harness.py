from __future__ import annotations

from whileai_core import infer_harness, tools_from_traces
from whileai_core.traces.opening import opening_share


def calls(*arguments, tool="t"):
    steps = [{"tool": tool, "arguments": a, "result": None} for a in arguments]
    return [{"prompt": "p", "steps": steps}]


def parameters(rows):
    return infer_harness(rows)["tools"][0]["function"]["parameters"]


def test_argument_names_are_united():
    rows = calls({"b": 1}, '{"a": 2}', "no json", None) + calls({"c": None})
    tool = tools_from_traces(rows)[0]
    assert list(tool["function"]["parameters"]["properties"]) == ["a", "b", "c"]
    assert tools_from_traces(None) == []


def test_types_required_keys_and_null():
    drafted = parameters(calls({"n": 5, "m": 1, "z": None}, {"n": None, "m": "x", "z": None}))
    assert drafted["properties"] == {
        "m": {"type": "string"},
        "n": {"type": "number"},
        "z": {"type": "string"},
    }
    assert drafted["required"] == ["m", "n", "z"]


def test_arrays_and_objects_show_what_was_inside():
    drafted = parameters(
        calls({"l": [{"k": True}, {"j": 1}], "o": {"deep": {"x": "y"}}}, {"l": []})
    )
    assert drafted["properties"]["l"] == {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"j": {"type": "number"}, "k": {"type": "boolean"}},
        },
    }
    assert drafted["properties"]["o"]["properties"]["deep"]["properties"] == {
        "x": {"type": "string"}
    }
    assert drafted["required"] == ["l"]


def test_deep_arguments_are_drafted_to_a_limit():
    deep: object = 1
    for _ in range(20_000):
        deep = {"d": deep}
    assert parameters(calls({"a": deep}))["properties"]["a"]["type"] == "object"


def test_names_are_trimmed_and_joined():
    harness = infer_harness(
        calls({"a": [1]}, tool=" t ") + calls({"a": ["x"], "b": 1}) + calls({}, tool=" ")
    )
    assert harness["observed_calls"] == {"t": 2}
    assert harness["policy"] == ""
    assert harness["tools"][0]["function"]["parameters"]["required"] == ["a"]


def test_message_rows_and_other_spellings_are_read():
    call = {"id": "1", "function": {"name": "t", "arguments": '{"city": "Graz"}'}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    for rows in (
        [{"messages": messages}],
        [{"tool_trace": [{"tool": "t", "args": {"city": "Graz"}}]}],
    ):
        assert infer_harness(rows)["observed_calls"] == {"t": 1}
        assert "city" in parameters(rows)["properties"]
        assert tools_from_traces(rows)[0]["function"]["name"] == "t"


def test_who_opens():
    bot = {"messages": [{"role": "system", "content": "x"}, {"role": "assistant", "content": "Hi"}]}
    user = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hi"}]}
    gpt = {"conversations": [{"from": "gpt", "value": "Hi"}, {"from": "human", "value": "Hi"}]}
    assert opening_share([bot, user, gpt, {"prompt": "x"}, None]) == 0.5
    assert opening_share([]) == 0.0
    assert opening_share([{"messages": ["x", {"content": "no role"}]}]) == 0.0
