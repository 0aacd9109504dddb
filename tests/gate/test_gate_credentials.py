"""Delegated credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from whileai_core.gate import accounts
from whileai_core.gate.database import now_ms
from whileai_core.gate.routes import credentials


def _bearer(user: Any) -> dict[str, str]:
    return {"Authorization": f"Bearer {user.key}"}


def _issue(user: Any, **body: Any) -> Any:
    reply = user.http.post("/auth/issue-credential", headers=_bearer(user), json=body)
    assert reply.status_code == 200
    return reply.json()


def _works(user: Any, credential: str) -> bool:
    reply = user.http.get("/datasets", headers={"X-Api-Key": credential})
    assert reply.status_code in (200, 401)
    return bool(reply.status_code == 200)


def _pass_time(monkeypatch: pytest.MonkeyPatch, seconds: int) -> None:
    for module in (accounts, credentials):
        monkeypatch.setattr(module, "now_ms", lambda: now_ms() + seconds * 1000)


def test_an_issued_credential_stands_for_the_account(user: Any) -> None:
    dataset, _ = user.create()
    issued = _issue(user, name="ci", ttlSeconds=60)
    assert issued["credential"].startswith("zp_dc_")
    assert (issued["name"], issued["ttlSeconds"]) == ("ci", 60)
    assert issued["expiresAt"].endswith("Z")
    reply = user.http.get("/datasets", headers={"X-Api-Key": issued["credential"]})
    assert [row["datasetId"] for row in reply.json()["datasets"]] == [dataset]


def test_two_calls_give_two_credentials_with_defaults(user: Any) -> None:
    first, second = _issue(user), _issue(user)
    assert first["credential"] != second["credential"]
    assert (first["name"], first["ttlSeconds"]) == ("sdk-default", 3600)


def test_expired_revoked_and_forged_credentials_are_refused(
    user: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = _issue(user, ttlSeconds=60)["credential"]
    assert _works(user, short)
    _pass_time(monkeypatch, 61)
    assert not _works(user, short)
    kept = _issue(user)["credential"]
    assert not _works(user, kept[:-1] + ("A" if kept[-1] != "A" else "B"))
    revoke = {"headers": _bearer(user), "json": {"credential": kept}}
    assert user.http.post("/auth/revoke-credential", **revoke).json() == {"revoked": True}
    assert not _works(user, kept)
    assert user.http.post("/auth/revoke-credential", **revoke).status_code == 404
    body = {"credential": short}
    reply = user.http.post("/auth/refresh-credential", headers=_bearer(user), json=body)
    assert reply.status_code == 404


def test_refresh_lengthens_the_life(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    issued = _issue(user, ttlSeconds=60, name="n")
    body = {"credential": issued["credential"], "ttlSeconds": 120}
    reply = user.http.post("/auth/refresh-credential", headers=_bearer(user), json=body)
    assert reply.status_code == 200
    refreshed = reply.json()
    assert (refreshed["credential"], refreshed["name"]) == (issued["credential"], "n")
    assert refreshed["expiresAt"] > issued["expiresAt"]
    _pass_time(monkeypatch, 61)
    assert _works(user, issued["credential"])


def test_a_foreign_credential_cannot_be_touched(user: Any, new_user: Callable[[], Any]) -> None:
    body = {"credential": _issue(user)["credential"]}
    for call in ("refresh", "revoke"):
        reply = user.http.post(f"/auth/{call}-credential", headers=_bearer(new_user()), json=body)
        assert reply.status_code == 404
        assert body["credential"] not in reply.text
    assert _works(user, body["credential"])


@pytest.mark.parametrize("call", ["issue", "refresh", "revoke"])
def test_only_a_session_token_may_manage_credentials(user: Any, call: str) -> None:
    delegated = _issue(user)["credential"]
    for headers in (
        {},
        {"X-Api-Key": user.key},
        {"Authorization": "Bearer"},
        {"Authorization": f"Basic {user.key}"},
        {"Authorization": f"Bearer {delegated}"},
    ):
        reply = user.http.post(
            f"/auth/{call}-credential", headers=headers, json={"credential": delegated}
        )
        assert reply.status_code == 401
    assert _works(user, delegated)


@pytest.mark.parametrize("life", [0, -5, 1.5, "60", True])
def test_a_senseless_life_is_400(user: Any, life: Any) -> None:
    reply = user.http.post(
        "/auth/issue-credential", headers=_bearer(user), json={"ttlSeconds": life}
    )
    assert reply.status_code == 400


def test_one_idempotency_key_gets_one_credential(user: Any, new_user: Callable[[], Any]) -> None:
    def issue(who: Any) -> Any:
        headers = _bearer(who) | {"Idempotency-Key": "k"}
        return who.http.post("/auth/issue-credential", headers=headers, json={"ttlSeconds": 60})

    first, again, foreign = issue(user), issue(user), issue(new_user())
    assert first.headers["idempotency-key"] == "k"
    assert first.json()["credential"] == again.json()["credential"]
    assert first.json()["credential"] != foreign.json()["credential"]
    body = {"credential": first.json()["credential"]}
    user.http.post("/auth/revoke-credential", headers=_bearer(user), json=body)
    assert issue(user).status_code == 409
    assert not _works(user, body["credential"])
