"""Training runs, usage and the account, as the peer SDK's neighbours of the platform call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def begin(user: Any, **fields: Any) -> str:
    return str(user.call("POST", "/runs", 201, json={"name": "night"} | fields)["runId"])


def test_the_life_of_a_run(user: Any) -> None:
    run = begin(user, base_model="m", config={"lr": 0.1}, dataset_id="ds_x", unknown=1)
    for step in range(3):
        user.call("POST", f"/runs/{run}/log", 200, json={"step": step, "loss": 1 / (step + 1)})
    running = user.call("GET", f"/runs/{run}", 200)
    assert (running["status"], running["finishedAt"], running["logged"]) == ("running", None, 3)
    assert [entry["step"] for entry in running["log"]] == [0, 1, 2]
    assert (running["base_model"], running["config"]) == ("m", {"lr": 0.1})
    for _ in range(2):
        done = user.call("POST", f"/runs/{run}/finish", 200, json={"adapter": "none"})
    assert (done["status"], done["result"]) == ("finished", {"adapter": "none"})
    assert done["finishedAt"] is not None
    user.call("DELETE", f"/runs/{run}", 200)
    user.call("GET", f"/runs/{run}", 404)


def test_runs_are_listed_newest_first_and_apart(user: Any, new_user: Callable[[], Any]) -> None:
    first, second = begin(user), begin(user)
    listed = user.call("GET", "/runs", 200)["runs"]
    assert [run["runId"] for run in listed] == [second, first]
    stranger = new_user()
    assert stranger.call("GET", "/runs", 200) == {"runs": []}
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/log"), ("POST", "/finish")):
        stranger.call(method, f"/runs/{first}{path}", 404)


def test_one_idempotency_key_makes_one_run(user: Any, new_user: Callable[[], Any]) -> None:
    headers = {"Idempotency-Key": "k"}
    made = {
        user.call("POST", "/runs", 201, json={"name": "n"}, headers=headers)["runId"]
        for _ in range(3)
    }
    assert len(made) == 1
    other = new_user().call("POST", "/runs", 201, json={"name": "n"}, headers=headers)["runId"]
    assert other not in made


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"name": 1}'])
def test_what_is_no_run_is_refused(user: Any, body: bytes) -> None:
    user.call("POST", "/runs", 400, content=body)


def test_publishing_a_run_is_refused_cleanly(user: Any) -> None:
    run = begin(user)
    assert "adapter" in user.call("POST", f"/runs/{run}/hf-publish", 409)["error"]
    user.call("POST", "/runs/run_none/hf-publish", 404)


def test_values_json_cannot_carry_do_not_break_a_run(user: Any) -> None:
    run = begin(user)
    user.call("POST", f"/runs/{run}/log", 200, content=b'{"loss": NaN, "text": "\\u0000"}')
    (entry,) = user.call("GET", f"/runs/{run}", 200)["log"]
    assert entry == {"loss": None, "text": "\0"}


def test_usage_is_taken_and_me_is_whole(user: Any) -> None:
    assert user.call("POST", "/usage", 200, json={"input_tokens": 3}) == {"metered": False}
    me = user.call("GET", "/me", 200)
    assert me["user_id"].startswith("ac_")
    assert me["expires_at"] is None
    assert {"name", "email", "tier", "daily_input_tokens", "created_at"} <= set(me)
