from __future__ import annotations

import json

import pytest

from whileai_core import format_trace_report, trace_report

FAILED = {
    "prompt": "Refund order 17",
    "steps": [{"tool": "refund", "arguments": {"order_id": "17"}, "result": {"status": "timeout"}}],
    "final_text": "Sorry",
    "reward": 0,
}
TOOLS = [
    {"name": "lookup", "parameters": {"properties": {"order_id": {}}}},
    {"name": "refund", "parameters": {"properties": {"order_id": {}}}},
]


def test_counts_what_became_a_row_and_what_did_not(tmp_path):
    rows = [
        FAILED,
        {"prompt": "b", "reward": float("nan")},
        None,
        {"note": "empty"},
        {"prompt": "B "},
    ]
    report = trace_report(rows)
    assert (report["traces"], report["dropped"]) == (3, 2)
    assert (report["graded"], report["passes"], report["fails"]) == (1, 0, 1)
    assert (report["ungraded"], report["unique_prompts"]) == (2, 2)
    assert trace_report(iter(rows)) == report
    path = tmp_path / "traces.jsonl"
    path.write_text(json.dumps(FAILED) + "\nnot json\n", encoding="utf-8")
    assert (trace_report(path)["traces"], trace_report(path)["dropped"]) == (1, 1)


def test_one_row_and_message_rows_are_read():
    assert trace_report(FAILED)["fails"] == 1
    chat = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    assert trace_report([FAILED, {"messages": chat}])["traces"] == 2


def test_emphasis_names_what_moved_forward():
    report = trace_report([FAILED], TOOLS)
    assert report["emphasis"] == {"tool": ["refund"], "tool_condition": ["timeout"]}
    assert "foreign_tools" not in report
    text = format_trace_report(report)
    assert text.endswith("extra generation weight goes to: tools refund; faults timeout")


def test_text_does_not_ask_for_tools_that_were_given():
    quiet = {"prompt": "a", "steps": [], "final_text": "b"}
    assert "pass tools=" in format_trace_report(trace_report([quiet]))
    assert "pass tools=" not in format_trace_report(trace_report([quiet], TOOLS))


def test_foreign_tools_are_warned_about():
    report = trace_report([FAILED], [{"name": "other"}])
    assert report["foreign_tools"] == ["refund"]
    assert "warning: observed tools not in this agent's toolset: refund" in format_trace_report(
        report
    )


def test_long_lists_are_cut():
    report = trace_report([FAILED]) | {"emphasis": {"tool": list("abcdefg")}}
    assert format_trace_report(report).endswith("tools a, b, c, d, e (+2 more)")


def test_what_cannot_be_reported_raises():
    with pytest.raises(TypeError, match="tool 0"):
        trace_report([FAILED], [7])
    with pytest.raises(TypeError):
        trace_report(None)
    with pytest.raises(FileNotFoundError):
        trace_report("no-such-file.jsonl")
    with pytest.raises(KeyError):
        format_trace_report({"traces": 1})
