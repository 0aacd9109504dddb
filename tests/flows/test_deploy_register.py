"""Registering: over what an earlier version left, and at a server that demands what Cloud does."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import httpx
import pytest

from deployments.register import Night, _check_name, _entry_of
from whileai_core.errors import InputError

ROOT = Path(__file__).parents[2]
KEY = "pnu_0123456789abcdefghijklmnopqrstuvwxyz"
WORKSPACE = (
    "/api/accounts/9b649228-0419-40e1-9e0d-44954b5c0ab6"
    "/workspaces/96bd3cf8-85c9-4545-9713-b4e3c3e03466"
)


class Door(BaseHTTPRequestHandler):
    """Lets those in who come with the key and by the workspace's path; says what came else."""

    protocol_version = "HTTP/1.1"
    behind: ClassVar[str]
    refused: ClassVar[list[str]]

    def log_message(self, *_: object) -> None:
        pass

    def _pass(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        sent = self.headers.get("Authorization")
        if not self.path.startswith(WORKSPACE) or sent != f"Bearer {KEY}":
            self.refused.append(self.path)
            self._answer(401, json.dumps({"detail": f"Invalid authentication: {sent}"}).encode())
            return
        url = self.behind + self.path.removeprefix(WORKSPACE)
        kind = {"Content-Type": self.headers.get("Content-Type") or "application/json"}
        reply = httpx.request(self.command, url, content=body, headers=kind, timeout=60)
        self._answer(reply.status_code, reply.content)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        if status != httpx.codes.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _pass  # noqa: N815


@dataclass
class Cloud:
    url: str
    refused: list[str]

    def deploy(self, home: Path, key: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "WHILEAI_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "PREFECT_CLOUD_API_URL": f"{self.url}/api",
            "PREFECT_CLOUD_UI_URL": self.url,
            "PREFECT_API_URL": f"{self.url}{WORKSPACE}",
            "PREFECT_API_KEY": key,
            "PREFECT_LOGGING_LEVEL": "DEBUG",
        }
        command = [sys.executable, "-m", "whileai_core.cli", "deploy", "s3://bucket/traces"]
        command += ["--agent", "cloudy", "--pool", "cloud-pool", "--json"]
        return subprocess.run(
            command, env=environment, cwd=home, capture_output=True, text=True, check=False
        )


@pytest.fixture
def cloud(prefect_server: str) -> Iterator[Cloud]:
    refused: list[str] = []
    handler = type("Handler", (Door,), {"behind": prefect_server, "refused": refused})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield Cloud(f"http://127.0.0.1:{server.server_port}", refused)
    server.shutdown()
    server.server_close()


@pytest.mark.slow
def test_the_key_opens_the_workspace_and_is_never_shown(cloud: Cloud, tmp_path: Path) -> None:
    done = cloud.deploy(tmp_path, KEY)
    assert done.returncode == 0, done.stderr
    assert cloud.refused == []
    registered = json.loads(done.stdout)
    assert registered["deployments"]["nightly/cloudy"] == "created"
    assert registered["ui"].startswith(f"{cloud.url}/account/9b649228")
    assert KEY not in done.stdout + done.stderr


def test_a_wrong_key_is_named_by_its_variable(cloud: Cloud, tmp_path: Path) -> None:
    wrong = KEY[::-1]
    done = cloud.deploy(tmp_path, wrong)
    assert done.returncode == 1
    assert "check PREFECT_API_KEY" in done.stderr
    assert wrong not in done.stdout + done.stderr


@pytest.mark.slow
def test_what_an_earlier_version_registered_is_brought_up_to_date(prefect_server: str) -> None:
    from deployments import register

    def ask(path: str, **body: Any) -> Any:
        return httpx.post(f"{prefect_server}/{path}", json=body).raise_for_status().json()

    asyncio.run(register.register(pool="upgraded"))
    form = {"type": "object", "properties": {}}
    flow = ask("flows/", name="older-flow")["id"]
    old = {"flow_id": flow, "tags": ["whileai"], "parameter_openapi_schema": form}
    pull = register._read_entries()[1]
    for name, more in {
        "gone": {"entrypoint": "flows/older_flow.py:older_flow", "pull_steps": pull},
        "their-own": {"entrypoint": "jobs/report.py:report", "pull_steps": []},
    }.items():
        ask("deployments/", name=name, **old, **more)
    nightly = httpx.get(f"{prefect_server}/deployments/name/nightly/nightly").json()
    given = {"agent": "support", "holdout": 0.3, "of_an_earlier_version": True}
    change = {"parameters": given, "enforce_parameter_schema": False}
    httpx.patch(f"{prefect_server}/deployments/{nightly['id']}", json=change).raise_for_status()

    done = asyncio.run(register.register())
    assert done.deployments["older-flow/gone"] == "removed"
    assert done.dropped == {"nightly/nightly": ["of_an_earlier_version"]}
    found = {one["name"]: one for one in ask("deployments/filter")}
    assert "their-own" in found and "gone" not in found
    assert found["nightly"]["id"] == nightly["id"]
    assert found["nightly"]["parameters"] == {"agent": "support", "holdout": 0.3}
    assert found["nightly"]["work_pool_name"] == "upgraded"


def test_every_night_is_found_however_many_there_are(prefect_server: str, monkeypatch: Any) -> None:
    from prefect.client.orchestration import get_client

    from deployments import register

    monkeypatch.setattr(register, "_PAGE", 2)
    flow = httpx.post(f"{prefect_server}/flows/", json={"name": "many"}).json()["id"]
    for number in range(5):
        body = {"name": f"agent-{number}", "flow_id": flow, "tags": ["whileai", "many"]}
        httpx.post(f"{prefect_server}/deployments/", json=body).raise_for_status()

    async def earlier() -> list[Any]:
        async with get_client() as client:
            done = register.Registered("", None)
            return await register._Registration(client, [], None, done).earlier()

    names = [one.name for one in asyncio.run(earlier()) if "many" in one.tags]
    assert sorted(names) == [f"agent-{number}" for number in range(5)]


@pytest.mark.parametrize(
    ("agent", "cron", "told"),
    [
        ("s", "0 0 31 2 *", "never comes"),
        ("s", "61 2 * * *", "no schedule for the night of s"),
        ("nightly", "30 2 * * *", "the name 'nightly' is taken"),
        ("a-b", "30 2 * * *", "is the night of 'a/b' already"),
    ],
)
def test_a_night_that_cannot_be_is_refused_before_anything_is_registered(
    agent: str, cron: str, told: str
) -> None:
    night = Night(agent, ["s3://bucket/traces"], cron, "UTC")
    entries = [{"name": "nightly"}]
    there = SimpleNamespace(name="a-b", parameters={"agent": "a/b"})
    with pytest.raises(InputError, match=told):
        _check_name(night, entries, [there])
        asyncio.run(_entry_of(night, entries))
