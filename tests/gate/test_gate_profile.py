"""The profile's numbers, and when they are computed."""

from __future__ import annotations

import json
from typing import Any

from whileai_core.gate.profile import Profile


def _profile(rows: list[Any]) -> dict[str, Any]:
    profile = Profile()
    for row in rows:
        profile.add(row)
    return profile.result()


def _task(name: str, rewards: list[float | None]) -> list[dict[str, Any]]:
    return [
        {"scenario_id": name} | ({} if reward is None else {"reward": reward}) for reward in rewards
    ]


def test_rates_and_support_of_graded_groups() -> None:
    rows = [
        *_task("solved", [1, 1, 1, 1]),
        *_task("even", [1, 1, 0, 0]),
        *_task("rare", [1, 0, 0, 0]),
        *_task("dead", [0, 0]),
        *_task("open", [None]),
    ]
    profile = _profile(rows)
    assert profile["rows"] == 15
    assert profile["split"] == {"pass": 7, "fail": 7, "ungraded": 1}
    assert (profile["graded"], profile["pass_rate"]) == (14, 0.5)
    assert (profile["tasks"], profile["rows_per_task"]) == (5, 3.0)
    assert profile["tasks_with_repeats"] == 4
    assert (profile["mixed_tasks"], profile["mixed_fraction"]) == (2, 0.4)
    assert profile["support"] == round((1 + 0.75) / 5, 3)
    assert profile["per_task"][2] == {"task": "rare", "n": 4, "graded": 4, "pass_rate": 0.25}
    assert profile["per_task"][4]["pass_rate"] is None


def test_nothing_graded_has_no_rate_and_nothing_at_all_is_fine() -> None:
    assert _profile([{"prompt": "a"}])["pass_rate"] is None
    empty = _profile([])
    assert (empty["rows"], empty["tasks"], empty["support"]) == (0, 0, None)


def test_a_boolean_is_no_grade_and_a_bare_value_is_a_row() -> None:
    profile = _profile([{"prompt": "a", "reward": True}, [1], "x", None])
    assert (profile["rows"], profile["graded"], profile["tasks"]) == (4, 0, 4)


def test_tools_and_tokens() -> None:
    steps = [{"tool": "search"}, {"user": "hi"}, {"tool": "buy"}, {"tool": "search"}]
    used = {"prompt": "a", "steps": steps, "usage": {"input_tokens": 30, "output_tokens": 12}}
    profile = _profile([used, {"prompt": "b", "usage": {"total_tokens": 10}}])
    assert profile["tool_use"] == {
        "rows": 1,
        "share": 0.5,
        "calls_per_row": 1.5,
        "by_tool": {"search": 2, "buy": 1},
    }
    assert profile["tokens"] == {
        "total": 52,
        "mean": 26.0,
        "p50": 10,
        "p95": 42,
        "source": "usage",
    }
    assert _profile([{"prompt": "a" * 300}])["tokens"]["source"] == "estimate"


def test_the_profile_follows_the_data(user: Any) -> None:
    dataset, url = user.create()
    path = f"/datasets/{dataset}/profile"
    user.call("GET", path, 409)
    for rows in (_task("a", [1, 0]), _task("b", [1, 1, 1])):
        user.http.put(url, content="\n".join(map(json.dumps, rows)).encode())
        user.call("POST", f"/datasets/{dataset}/finalize", 200)
        first = user.call("GET", path, 200)
        assert set(first) == {"profile"}
        assert first["profile"]["rows"] == len(rows)
        assert user.call("GET", path, 200) == first
        assert user.call("GET", f"{path}?force=1", 200) == first


def test_task_names_no_database_takes_are_no_obstacle(user: Any) -> None:
    dataset = user.push(b'{"prompt": "\\ud83d\\u0000"}\n\xef\xbb\xbf{"prompt": 7}\n')
    assert user.call("GET", f"/datasets/{dataset}/profile", 200)["profile"]["tasks"] == 2
