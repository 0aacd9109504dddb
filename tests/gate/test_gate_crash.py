"""A served gate killed in the middle of an upload."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from gate_kit import run_sql

from whileai_core.errors import SettingsError, StoreError
from whileai_core.gate.admin import create_key
from whileai_core.gate.blobs import LocalBlobs, new_key
from whileai_core.gate.server import serve
from whileai_core.gate.settings import GateSettings
from whileai_core.settings import Settings

_SERVE = "from whileai_core.gate.server import serve; serve('127.0.0.1', 0)"


class _Process:
    def __init__(self, home: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", _SERVE],
            env=os.environ | {"WHILEAI_HOME": str(home)},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        assert line.startswith("gate listens on http://127.0.0.1:"), line
        self.origin = line.split()[-1]

    def stop(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.communicate(timeout=30)


@pytest.fixture
def home(tmp_path: Path, database_url: str | None) -> Path:
    return tmp_path


def _half_upload(origin: str, path: str) -> socket.socket:
    host, port = origin.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)))
    head = f"PUT {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 9000000\r\n\r\n"
    connection.sendall(head.encode() + b'{"a": 1}\n' * 500_000)
    return connection


def _unfinished(home: Path) -> list[Path]:
    return list((home / "gate" / "blobs" / "tmp").iterdir())


def _wait_for_unfinished(home: Path) -> None:
    for _ in range(500):
        if any(path.stat().st_size for path in _unfinished(home)):
            return
        time.sleep(0.01)
    raise AssertionError("the upload never began")


def test_a_kill_in_mid_upload_leaves_nothing_half_written(home: Path) -> None:
    settings = GateSettings.from_settings(Settings(home=home))
    key = {"X-Api-Key": asyncio.run(create_key("team", settings=settings))}
    gate = _Process(home)
    made = httpx.post(f"{gate.origin}/datasets", headers=key, json={"name": "n"}).json()
    path = made["uploadUrl"].removeprefix(gate.origin)
    connection = _half_upload(gate.origin, path)
    _wait_for_unfinished(home)
    gate.stop(signal.SIGKILL)
    connection.close()
    assert _unfinished(home)

    gate = _Process(home)
    try:
        assert _unfinished(home) == []
        with httpx.Client(base_url=gate.origin, headers=key) as client:
            dataset = f"/datasets/{made['datasetId']}"
            row = client.get(dataset).json()
            assert (row["status"], row["rows"], row["sizeBytes"]) == ("pending", None, 0)
            assert client.post(f"{dataset}/finalize").status_code == 409
            assert client.put(path, content=b"{}\n").status_code == 200
            assert client.post(f"{dataset}/finalize").json()["rows"] == 1
    finally:
        gate.stop(signal.SIGTERM)


def test_a_client_that_hangs_up_leaves_nothing(home: Path) -> None:
    settings = GateSettings.from_settings(Settings(home=home))
    key = {"X-Api-Key": asyncio.run(create_key("team", settings=settings))}
    gate = _Process(home)
    try:
        made = httpx.post(f"{gate.origin}/datasets", headers=key, json={"name": "n"}).json()
        connection = _half_upload(gate.origin, made["uploadUrl"].removeprefix(gate.origin))
        _wait_for_unfinished(home)
        connection.close()
        for _ in range(500):
            if not _unfinished(home):
                break
            time.sleep(0.01)
        assert _unfinished(home) == []
        dataset = f"{gate.origin}/datasets/{made['datasetId']}"
        assert httpx.post(f"{dataset}/finalize", headers=key).status_code == 409
    finally:
        gate.stop(signal.SIGTERM)


def test_a_stop_lets_the_upload_in_flight_finish(home: Path) -> None:
    settings = GateSettings.from_settings(Settings(home=home))
    key = {"X-Api-Key": asyncio.run(create_key("team", settings=settings))}
    gate = _Process(home)
    made = httpx.post(f"{gate.origin}/datasets", headers=key, json={"name": "n"}).json()
    begun = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield b'{"a": 1}\n' * 200_000
        begun.wait(60)
        yield b"{}\n"

    replies: list[int] = []
    uploading = threading.Thread(
        target=lambda: replies.append(httpx.put(made["uploadUrl"], content=slowly()).status_code)
    )
    uploading.start()
    _wait_for_unfinished(home)
    gate.process.send_signal(signal.SIGTERM)
    begun.set()
    uploading.join()
    gate.process.communicate(timeout=30)
    assert replies == [200]


def test_a_sweep_spares_writers_that_live(tmp_path: Path) -> None:
    blobs = LocalBlobs(tmp_path)
    key = new_key()
    writer = blobs.writer(key)
    writer.write(b"whole")
    LocalBlobs(tmp_path).sweep()
    writer.commit()
    with blobs.open(key) as file:
        assert file.read() == b"whole"


def test_blobs_given_up_are_collected_at_the_next_start(home: Path) -> None:
    settings = GateSettings.from_settings(Settings(home=home))
    asyncio.run(create_key("team", settings=settings))
    blobs = LocalBlobs(settings.folder / "blobs")
    key = new_key()
    writer = blobs.writer(key)
    writer.commit()
    run_sql(settings, f"INSERT INTO garbage VALUES ('{key}', 1)")
    asyncio.run(create_key("team", settings=settings))
    with pytest.raises(FileNotFoundError):
        blobs.open(key)


def test_a_port_in_use_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=str(port)):
            serve("127.0.0.1", port)


def test_a_home_that_cannot_be_used_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gate").write_text("a file")
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path))
    with pytest.raises(StoreError, match="folder"):
        serve("127.0.0.1", 0)
