from __future__ import annotations

import pytest

from whileai_core.traces.faults import fault_of_result, fault_of_row

CLEAN = [
    None,
    "all good",
    "Error budget for March: 3 %",
    "No error: all good",
    "error: null",
    "Error rate: 2%",
    "Internal error codes, a list",
    "Process exited with code 0",
    [{"a": 1}],
    42,
    {},
    {"status": "paid"},
    {"status": "success"},
    {"status": "success", "error": ""},
    {"status": "pending", "error": None},
    {"data": [1, 2], "error": None},
    {"data": [1], "error": ""},
    {"data": [1], "error": False},
    {"status": "ok", "error": "slow"},
    {"status": "permission_granted"},
    {"success": True},
    {"exit_code": 0, "stdout": "x"},
    {"exit_code": None},
    {"exit_code": True},
    {"status_code": 204},
    {"status_code": "n/a"},
    {"error": "none"},
    {"data": [1], "error": "null"},
    {"success": "true", "isError": "false", "ok": 1},
    {"errors": [], "data": {"id": 1}},
    {"errors": [{"line": 3}], "data": {"checked": 9}},
    {"errorMessage": None, "error_message": ""},
    {"output": "3 files", "metadata": {"exit_code": 0}},
    {"result": "ok"},
    {"result": {"error": "shown to the user"}, "id": 7},
    {"status": 200.0},
    "failed: 0, passed: 10",
    "NoError",
    "Timeouts: 3 in March",
    "404 results",
    "timeout: 30\nretries: 2",
    "The agent timed out twice last week",
    {"content": [{"type": "text", "text": "3 files"}], "isError": False},
    [{"type": "text", "text": "done"}],
]
FAULTS = [
    ({"status": " TIMEOUT "}, "timeout"),
    ({"status": "unauthorized"}, "deny"),
    ({"status": "needs_permission"}, "needs_permission"),
    ({"status": "permission_not_granted"}, "permission_not_granted"),
    ({"status": 404}, "404"),
    ({"status": "exit_2"}, "exit_2"),
    ({"status": "entity missing"}, "not_found"),
    ({"reason": "already_acted_on"}, "already_done"),
    ({"stale": 1, "rows": []}, "stale"),
    ({"data": "<<Garbled bytes>>"}, "malformed"),
    ('{"status": "failed"}', "failed"),
    ({"error": {"code": 9}}, "error"),
    ({"error": ""}, "error"),
    ({"status": "done", "error": "disk full"}, "error"),
    ({"isError": True, "content": []}, "error"),
    ({"success": False}, "error"),
    ({"ok": False, "detail": "x"}, "error"),
    ({"exit_code": 1, "stderr": "boom"}, "error"),
    ({"returncode": "-9"}, "error"),
    ({"status_code": 503, "body": ""}, "503"),
    ({"status": 503.0}, "503"),
    ({"success": "false"}, "error"),
    ({"ok": 0}, "error"),
    ({"is_error": "True"}, "error"),
    ({"isError": 1, "content": []}, "error"),
    ({"http_code": 404}, "404"),
    ({"errors": [{"message": "boom"}], "data": None}, "error"),
    ({"errorMessage": "boom", "errorType": "TypeError"}, "error"),
    ({"output": "boom", "metadata": {"exit_code": 1}}, "error"),
    ({"output": "Error: boom"}, "error"),
    ({"result": {"status": "timeout"}}, "timeout"),
    ({"content": "Error: boom"}, "error"),
    ("\u274c Error: boom", "error"),
    ("TimeoutError", "error"),
    ("Request timed out.", "error"),
    ("Timed out after 30s", "error"),
    ("bash: line 1: foo: command not found", "error"),
    ("cat: x.txt: No such file or directory", "error"),
    ("Connection refused", "error"),
    ("HTTP 500 Internal Server Error", "error"),
    ("HTTP/1.1 404 Not Found", "error"),
    ("Failure: no disk", "error"),
    ("Error: command timed out after 30s", "error"),
    ("ValueError: bad date", "error"),
    ("An unexpected error occurred while reading", "error"),
    ("Internal server error", "error"),
    ("Permission denied", "error"),
    ("[ERROR] - no disk", "error"),
    ("Traceback (most recent call last):\n  File", "error"),
    ("<tool_use_error>No such file</tool_use_error>", "error"),
    ("Command failed with exit code 2", "error"),
    ([{"type": "text", "text": "Error executing tool read: gone"}], "error"),
    ([{"type": "text", "text": '{"status": "not_found"}'}], "not_found"),
    ([{"type": "text", "text": "x", "is_error": True}], "error"),
    ({"content": [{"type": "text", "text": "Error: nope"}]}, "error"),
]


@pytest.mark.parametrize("result", CLEAN, ids=repr)
def test_ordinary_results_are_no_faults(result):
    assert fault_of_result(result) is None


@pytest.mark.parametrize(("result", "fault"), FAULTS, ids=repr)
def test_failures_are_named(result, fault):
    assert fault_of_result(result) == fault


def test_first_fault_of_a_row_counts():
    row = {
        "steps": [
            {"tool": "a", "arguments": {}, "result": {"status": "ok"}},
            {"tool": "b", "arguments": {}, "result": {"status": "denied"}},
            {"tool": "c", "arguments": {}, "result": {"status": "timeout"}},
        ]
    }
    assert fault_of_row(row) == "deny"


def test_planned_fault_counts_only_without_any_result():
    plan = {"a": "odd", "b": {"mode": ""}, "c": {"mode": "stale_result"}}
    call = {"tool": "a", "arguments": {}}
    assert fault_of_row({"steps": [call], "faults": plan}) == "stale"
    assert fault_of_row({"steps": [{**call, "result": "x"}], "faults": plan}) is None


def test_results_no_parser_likes_are_read():
    deep: object = "<<garbled>>"
    for _ in range(20_000):
        deep = {"child": deep}
    assert fault_of_result(deep) == "malformed"
    assert fault_of_result({"n": 10**5000, "status": "timeout"}) == "timeout"
    assert fault_of_result({"x": float("nan"), ("a", 1): "\udcff"}) is None
    assert fault_of_result("{" * 5000) is None
