"""Who may do what, and what every refusal looks like."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from gate_kit import run_sql

from whileai_core.errors import InputError
from whileai_core.gate.admin import create_account, create_key

KEYED = [
    ("POST", "/datasets"),
    ("GET", "/datasets"),
    ("GET", "/datasets/{id}"),
    ("DELETE", "/datasets/{id}"),
    ("POST", "/datasets/{id}/finalize"),
    ("POST", "/datasets/{id}/meta"),
    ("GET", "/datasets/{id}/download"),
    ("GET", "/datasets/{id}/preview"),
    ("POST", "/datasets/{id}/publish"),
    ("POST", "/datasets/{id}/unpublish"),
    ("GET", "/agents"),
    ("GET", "/me"),
    ("GET", "/traces"),
    ("DELETE", "/traces/{id}"),
    ("GET", "/hf/me"),
    ("POST", "/datasets/import-hf"),
    ("POST", "/datasets/{id}/hf-publish"),
    ("GET", "/datasets/{id}/profile"),
    ("POST", "/agents"),
    ("DELETE", "/agents/{id}"),
    ("POST", "/v1/traces"),
    ("POST", "/usage"),
    ("POST", "/runs"),
    ("GET", "/runs"),
    ("GET", "/runs/{id}"),
    ("DELETE", "/runs/{id}"),
    ("POST", "/runs/{id}/log"),
    ("POST", "/runs/{id}/finish"),
    ("POST", "/runs/{id}/hf-publish"),
]


@pytest.mark.parametrize(("method", "path"), KEYED)
def test_keyed_routes_answer_401_and_never_echo(served: Any, method: str, path: str) -> None:
    for headers in ({}, {"X-Api-Key": ""}, {"X-Api-Key": "zp_wrong"}):
        reply = served.http.request(method, path.format(id="ds_any"), headers=headers, content=b"{")
        assert reply.status_code == 401
        assert set(reply.json()) == {"error"}
        assert "zp_wrong" not in reply.text


@pytest.mark.parametrize(("method", "path"), [(m, p) for m, p in KEYED if "/datasets/{" in p])
def test_things_of_another_account_do_not_exist(
    user: Any, new_user: Callable[[], Any], method: str, path: str
) -> None:
    dataset = user.push(b"{}\n", agent="mine")
    stranger = new_user()
    stranger.call(method, path.format(id=dataset), 404, json={"agent": "a"})
    assert stranger.listed() == []
    assert user.fetch(dataset) == b"{}\n"
    row = user.call("GET", f"/datasets/{dataset}", 200)
    assert (row["agent"], row["public"]) == ("mine", False)


def test_header_names_are_case_insensitive(user: Any) -> None:
    assert user.http.get("/datasets", headers={"x-API-key": user.key}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/datasets/", 404),
        ("PATCH", "/datasets", 405),
        ("GET", "/upload/x", 405),
        ("GET", "/catalog/ds_none/download", 404),
    ],
)
def test_every_refusal_is_one_line_of_json(user: Any, method: str, path: str, status: int) -> None:
    error = user.call(method, path, status)
    assert set(error) == {"error"}
    assert 0 < len(error["error"]) < 380
    assert "\n" not in error["error"]


def test_a_failure_inside_is_500_with_a_json_body(serve_with: Callable[..., Any]) -> None:
    gate = serve_with()
    user = gate.user()
    run_sql(gate.settings, "DROP TABLE uploads")
    dataset, _ = user.create()
    reply = user.http.post(f"/datasets/{dataset}/finalize", headers={"X-Api-Key": user.key})
    assert reply.status_code in (500, 503)
    assert set(reply.json()) == {"error"}
    assert "uploads" not in reply.text


def test_keys_are_hashed_and_nothing_secret_is_logged(
    serve_with: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    gate = serve_with()
    user = gate.user()
    dataset, url = user.create()
    user.http.put(url, content=b"{}\n")
    user.call("POST", f"/datasets/{dataset}/finalize", 200)
    part = user.call("GET", f"/datasets/{dataset}/download?token=canary", 200)["parts"][0]
    with httpx.Client(base_url=gate.origin) as browser:
        browser.post("/sign-in", data={"key": user.key})
        cookie = browser.cookies["whileai_gate"]
        assert browser.get(f"/data/{dataset}?secret=canary").status_code == 200
    reply = user.http.get(part, headers={"X-Request-Id": "req-1"})
    assert reply.headers["x-request-id"] == "req-1"
    seen = ""
    for _ in range(6000):  # a request is logged when its answer is out
        ours = [record for record in caplog.records if record.name.startswith("whileai_core")]
        seen = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in ours)
        if "req-1" in seen:
            break
        time.sleep(0.01)
    counted = user.http.get("/metrics").text
    for secret in (user.key, cookie, url.rsplit(".", 1)[1], part.rsplit(".", 1)[1], "canary"):
        assert secret not in seen + counted
    assert dataset not in counted
    assert 'route="/data/{id}",status="200"} 1' in counted
    assert "PUT /upload/{token} -> 200" in seen
    assert "'request_id': 'req-1'" in seen
    stored = run_sql(gate.settings, "SELECT digest FROM credentials")
    assert stored
    assert not {user.key, cookie} & {digest for (digest,) in stored}
    assert user.key not in str(stored)
    assert user.key.startswith("zp_")


def test_health_needs_no_key(user: Any) -> None:
    assert user.http.get("/healthz").json()["status"] == "ok"


def test_a_name_has_one_account_and_any_number_of_keys(served: Any) -> None:
    keys = [asyncio.run(create_key("team", settings=served.settings)) for _ in range(2)]
    assert keys[0] != keys[1]
    first, second = ({"X-Api-Key": key} for key in keys)
    made = served.http.post("/datasets", headers=first, json={"name": "n"}).json()
    reply = served.http.get(f"/datasets/{made['datasetId']}", headers=second)
    assert reply.status_code == 200


def test_account_names_are_checked(served: Any) -> None:
    assert asyncio.run(create_account("solo", settings=served.settings)).startswith("ac_")
    with pytest.raises(InputError, match="already"):
        asyncio.run(create_account("solo", settings=served.settings))
    for name in ("", "  ", "a\nb", "x" * 201):
        with pytest.raises(InputError, match="account name"):
            asyncio.run(create_key(name, settings=served.settings))


@pytest.mark.parametrize("declared", [True, False], ids=["of known length", "in chunks"])
def test_a_refusal_reaches_a_client_that_is_still_sending(
    serve_with: Callable[..., Any], declared: bool
) -> None:
    gate = serve_with(max_traces_bytes=1_000_000)
    key = gate.user().key
    body = b"x" * 8_000_000
    with httpx.Client(base_url=gate.origin, timeout=30) as client:
        for method, path, headers, status in (
            ("PUT", "/upload/forged.1.x", {}, 403),
            ("POST", "/v1/traces", {}, 401),
            ("POST", "/v1/traces", {"X-Api-Key": key, "Content-Type": "application/json"}, 413),
            ("POST", "/v1/traces", {"X-Api-Key": key, "Content-Type": "text/plain"}, 415),
            ("POST", "/datasets", {"X-Api-Key": key}, 413),
            ("POST", "/sign-in", {"Content-Type": "application/x-www-form-urlencoded"}, 413),
            ("POST", "/nowhere", {}, 404),
            ("PUT", "/datasets", {}, 405),
        ):
            content = body if declared else iter([body[:3_000_000], body[3_000_000:]])
            reply = client.request(method, path, headers=headers, content=content)
            assert reply.status_code == status


def test_a_client_that_asks_first_sends_nothing_in_vain(served: Any) -> None:
    with socket.create_connection(("127.0.0.1", served.http.base_url.port), 10) as client:
        client.sendall(
            b"PUT /upload/forged HTTP/1.1\r\nHost: gate\r\nContent-Length: 99999999\r\n"
            b"Expect: 100-continue\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 403")


def test_me_names_the_account_of_the_key(served: Any) -> None:
    key = asyncio.run(create_key("somebody", settings=served.settings))
    reply = served.http.get("/me", headers={"X-Api-Key": key})
    assert reply.json()["name"] == "somebody"
