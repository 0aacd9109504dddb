"""The nightly flow from a Prefect server: registered, its form explained, run by a worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from whileai_core import sync

ROOT = Path(__file__).parents[2]
PREFECT = [str(Path(sys.executable).with_name("prefect")), "--no-prompt"]


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server with a database on disk: the shared one in memory fails under a worker's polls."""
    from flows import _server

    for name in ("PREFECT_API_URL", "PREFECT_SERVER_DATABASE_CONNECTION_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    log = tmp_path / "server.log"
    process, url = _server._start(log)
    try:
        _server._wait(process, url, log)
        yield url
    finally:
        _server._stop(process)


@pytest.fixture
def environment(server):
    return {**os.environ, "PREFECT_API_URL": server, "PYTHONPATH": str(ROOT)}


@pytest.fixture
def deployment(server, environment):
    httpx.post(f"{server}/work_pools/", json={"name": "local", "type": "process"})
    done = subprocess.run(
        [*PREFECT, "deploy", "--all", "--prefect-file", "deployments/prefect.yaml"],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return httpx.get(f"{server}/deployments/name/nightly/nightly").json()


def test_its_form_explains_every_parameter_and_a_worker_runs_it(
    deployment, server, environment, tmp_path
):
    properties = deployment["parameter_openapi_schema"]["properties"]
    assert {"paths", "agent", "night", "holdout", "max_bad_share"} <= set(properties)
    assert all(field.get("description") for field in properties.values())
    assert deployment["schedules"][0]["active"] is False

    source = tmp_path / "a.jsonl"
    rows = [{"prompt": f"Ask {n * 7919}", "final_text": f"Answer {n}"} for n in range(10)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    started = httpx.post(
        f"{server}/deployments/{deployment['id']}/create_flow_run",
        json={"parameters": {"paths": [str(source)], "agent": "served"}},
    ).json()
    worker = subprocess.run(
        [*PREFECT, "worker", "start", "--pool", "local", "--run-once"],
        cwd=tmp_path,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert worker.returncode == 0, worker.stdout + worker.stderr
    for _ in range(300):
        run = httpx.get(f"{server}/flow_runs/{started['id']}").json()
        if run["state"]["type"] in {"COMPLETED", "FAILED", "CRASHED"}:
            break
        time.sleep(0.2)
    assert run["state"]["type"] == "COMPLETED", run["state"]
    assert run["name"].startswith("nightly-served")
    names = {entry["name"] for entry in sync.datasets()["datasets"]}
    assert any(name.startswith("served-") for name in names)
