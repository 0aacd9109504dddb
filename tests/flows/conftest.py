"""Everything on one machine, as `serve` starts it, once a session."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

ROOT = Path(__file__).parents[2]
_PATIENCE = 150  # seconds
_ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@dataclass
class Served:
    """A running `whileai-pipelines serve`."""

    process: subprocess.Popen[bytes]
    home: Path
    ui: str
    gate: str
    environment: dict[str, str]

    @property
    def api(self) -> str:
        return f"{self.ui}/api"

    def said(self) -> str:
        return (self.home / "said").read_text("utf-8")

    def command(self, *arguments: str) -> str:
        """Run one of our commands as somebody beside the server would."""
        done = subprocess.run(
            [sys.executable, "-m", "whileai_core.cli", *arguments],
            env=self.environment | {"PREFECT_API_URL": self.api},
            cwd=self.home,
            check=False,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, path: str) -> Any:
        return self.ask("GET", path).json()

    def post(self, path: str, body: dict[str, Any] | None = None) -> Any:
        return self.ask("POST", path, body or {}).json()

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self.ask("PATCH", path, body)

    def ask(self, method: str, path: str, body: Any = None) -> httpx.Response:
        """Call the API as its clients do: again when two writers met in SQLite."""
        for _ in range(30):
            reply = httpx.request(method, f"{self.api}/{path}", json=body, timeout=60)
            if reply.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                break
            time.sleep(0.5)
        return reply.raise_for_status()

    def run(self, deployment: str, parameters: dict[str, Any]) -> dict[str, Any]:
        """Have the worker run a deployment and return the run at its end."""
        found = self.get(f"deployments/name/{deployment}")
        started = self.post(
            f"deployments/{found['id']}/create_flow_run", {"parameters": parameters}
        )
        return self.wait(lambda: self.ended(started["id"]))

    def ended(self, run: str) -> dict[str, Any] | None:
        found: dict[str, Any] = self.get(f"flow_runs/{run}")
        return found if found["state"]["type"] in _ENDED else None

    def wait(self, ask: Any) -> Any:
        """Ask until there is an answer."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            answer = ask()
            if answer:
                return answer
            time.sleep(0.2)
        pytest.fail(f"waited in vain; serve said: {self.said()}")


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start everything, and end it in order."""
    home = tmp_path_factory.mktemp("served")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PREFECT_", "WHILEAI_"))
    }
    # Another Prefect of the same person; `serve` has its own data all the same.
    (home / ".prefect").mkdir()
    (home / ".prefect" / "profiles.toml").write_text(
        'active = "other"\n[profiles.other]\nPREFECT_API_URL = "http://127.0.0.1:9/api"\n'
        f'PREFECT_SERVER_DATABASE_CONNECTION_URL = "sqlite+aiosqlite:///{home}/other.db"\n'
    )
    other = {"HOME": str(home), "PREFECT_API_URL": "http://127.0.0.1:9/api"}
    environment |= {
        "WHILEAI_HOME": str(home),
        "PYTHONPATH": str(ROOT),
    }
    prefect, gate = _free_port(), _free_port()
    command = [sys.executable, "-m", "whileai_core.cli", "serve"]
    with (home / "said").open("wb") as said:
        process = subprocess.Popen(
            [*command, "--prefect-port", str(prefect), "--gate-port", str(gate)],
            env=environment | other,
            cwd=home,
            stderr=said,
        )
    everything = Served(
        process,
        home,
        f"http://127.0.0.1:{prefect}",
        f"http://127.0.0.1:{gate}",
        environment | {"PREFECT_HOME": str(home / "prefect")},
    )
    try:
        everything.wait(lambda: "every night" in everything.said() or process.poll() is not None)
        assert process.poll() is None, everything.said()
        yield everything
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0, everything.said()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
