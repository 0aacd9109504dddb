"""Rate limits, counters and session tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gate_kit import User

from whileai_core.gate.admin import create_session
from whileai_core.gate.limits import Buckets


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_bucket_empties_and_fills_again() -> None:
    clock = _Clock()
    buckets = Buckets(0.5, 2, clock=clock)
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 2]
    assert buckets.wait("b") == 0
    clock.now = 1
    assert buckets.wait("a") == 1
    clock.now = 2
    assert [buckets.wait("a"), buckets.wait("a")] == [0, 2]
    clock.now = 1000  # never more than a full one
    assert [buckets.wait("a") for _ in range(3)] == [0, 0, 2]


def test_no_rate_is_no_limit() -> None:
    buckets = Buckets(0, 1, clock=_Clock())
    assert not any(buckets.wait("a") for _ in range(100))


def test_a_key_is_slowed_down_and_others_are_not(serve_with: Callable[..., Any]) -> None:
    gate = serve_with(key_rate=0.001, key_burst=3)
    user, other = gate.user(), gate.user()
    for _ in range(3):
        user.call("GET", "/datasets", 200)
    reply = user.http.get("/datasets", headers={"X-Api-Key": user.key})
    assert reply.status_code == 429
    assert int(reply.headers["retry-after"]) >= 1
    assert user.key not in reply.text
    other.call("GET", "/datasets", 200)


def test_guessing_is_slowed_down_and_good_keys_still_work(serve_with: Callable[..., Any]) -> None:
    gate = serve_with(failure_rate=0.001, failure_burst=2)
    user = gate.user()
    attempts = [("GET", "/datasets"), ("POST", "/auth/issue-credential"), ("GET", "/me")]
    seen = [user.http.request(method, path) for method, path in attempts]
    assert [reply.status_code for reply in seen] == [401, 401, 429]
    assert "retry-after" in seen[-1].headers
    user.call("GET", "/datasets", 200)


def test_metrics_count_by_template_and_name_nobody(serve_with: Callable[..., Any]) -> None:
    user = serve_with().user()
    dataset = user.push(b"{}\n")
    user.call("GET", "/datasets/ds_canary", 404)
    user.call("GET", "/nowhere/canary", 404)
    user.call("CANARY", "/datasets", 405)
    reply = user.http.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    lines = reply.text.splitlines()
    total = "whileai_gate_requests_total"
    assert f'{total}{{method="POST",route="/datasets",status="201"}} 1' in lines
    assert f'{total}{{method="PUT",route="/upload/{{token}}",status="200"}} 1' in lines
    assert f'{total}{{method="GET",route="/datasets/{{id}}",status="404"}} 1' in lines
    assert f'{total}{{method="GET",route="(no route)",status="404"}} 1' in lines
    for secret in (dataset, user.key, "canary", "CANARY"):
        assert secret not in reply.text


def test_a_session_token_makes_credentials_and_is_no_key(served: Any) -> None:
    token = asyncio.run(create_session("with-session", settings=served.settings))
    bearer = {"Authorization": f"Bearer {token}"}
    made = served.http.post("/auth/issue-credential", headers=bearer, json={"ttlSeconds": 60})
    assert made.status_code == 200
    credential = made.json()["credential"]
    me = User(served.http, credential).call("GET", "/me", 200)
    assert me["name"] == "with-session"
    assert me["expires_at"] is not None
    body = {"credential": credential}
    for path in ("refresh", "revoke"):
        reply = served.http.post(f"/auth/{path}-credential", headers=bearer, json=body)
        assert reply.status_code == 200
    User(served.http, token).call("GET", "/datasets", 401)
    User(served.http, credential).call("GET", "/datasets", 401)
