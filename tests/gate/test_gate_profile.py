"""The profile's numbers, and when they are computed."""

from __future__ import annotations

import json
from typing import Any


def _task(name: str, rewards: list[float | None]) -> list[dict[str, Any]]:
    return [
        {"scenario_id": name} | ({} if reward is None else {"reward": reward}) for reward in rewards
    ]


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


def test_the_preview_shows_first_middle_and_last_and_the_same_numbers(user: Any) -> None:
    rows = [{"prompt": f"ask {n}", "final_text": f"{n}", "reward": n % 2} for n in range(9)]
    dataset = user.push("".join(json.dumps(row) + "\n" for row in rows).encode())
    preview = user.call("GET", f"/datasets/{dataset}/preview", 200)
    assert [row["prompt"] for row in preview["rows"]] == ["ask 0", "ask 4", "ask 8"]
    assert (preview["report"]["rows"], preview["report"]["passes"]) == (9, 4)
    profile = user.call("GET", f"/datasets/{dataset}/profile", 200)["profile"]
    assert preview["report"]["pass_rate"] == profile["pass_rate"]
