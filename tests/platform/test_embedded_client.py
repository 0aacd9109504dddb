"""The client against the real gate: inside this process and over HTTP."""

from __future__ import annotations

import asyncio
import json
import logging
import queue
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest
import uvicorn

import whileai_core
from whileai_core import errors, sync
from whileai_core.gate.embedded import embedded_gate
from whileai_core.platform import _connect
from whileai_core.platform._asgi import SpooledASGITransport

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS = [{"prompt": f"q{n}\u2028", "steps": [], "final_text": "é", "n": n} for n in range(30)]


@pytest.fixture(params=["embedded", "http"])
def gate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The same gate, called in process or served on loopback."""
    if request.param == "embedded":
        yield request.param
        return
    with serve() as (url, key):
        monkeypatch.setenv("WHILEAI_API_URL", url)
        monkeypatch.setenv("WHILEAI_API_KEY", key)
        yield request.param


@contextmanager
def serve() -> Iterator[tuple[str, str]]:
    """Serve the gate of the home folder from another thread; give its address and key."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        opened: queue.Queue[tuple[uvicorn.Server, str]] = queue.Queue()

        async def run() -> None:
            async with embedded_gate() as gate:
                server = uvicorn.Server(uvicorn.Config(gate.app, log_level="error", lifespan="off"))
                opened.put((server, gate.api_key))
                await server.serve(sockets=[listening])

        listening.listen()
        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        server, key = opened.get(timeout=30)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", key
        server.should_exit = True
        thread.join()


@pytest.mark.filterwarnings("ignore:holdout")
def test_a_set_from_push_to_delete(gate: str, tmp_path: Path) -> None:
    entry = sync.push_rows(ROWS, "set", holdout=0.3, agent="Kim", mode="rl", publish=True)
    assert entry.get("embedded", False) is (gate == "embedded")
    dataset_id, held_id = entry["datasetId"], entry["holdout"]["datasetId"]
    assert (
        sync.push_rows(ROWS, "set", holdout=0.3, agent="Kim", mode="rl")["datasetId"] == dataset_id
    )
    rows = sync.pull(dataset_id) + sync.pull(held_id)
    assert sorted(rows, key=lambda row: row["n"]) == ROWS
    sync.pull(dataset_id, tmp_path / "out.jsonl")
    lines = (tmp_path / "out.jsonl").read_bytes().splitlines()
    assert [json.loads(line) for line in lines] == sync.pull(dataset_id)
    assert [row["datasetId"] for row in sync.datasets()["datasets"]] == [held_id, dataset_id]
    assert [card["datasetId"] for card in sync.catalog()["datasets"]] == [dataset_id]
    assert sync.update_dataset(held_id, description="new")["description"] == "new"
    sync.delete_dataset(dataset_id)
    with pytest.raises(errors.NotFound):
        sync.pull(dataset_id)
    anew = sync.push_rows(ROWS, "set", holdout=0.3, agent="Kim", mode="rl")
    assert anew["datasetId"] != dataset_id


def test_a_file_through_the_gate(gate: str, tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(b'{"prompt": "x"}\n' * 50_000)
    entry = sync.push_file(path, gate=False)
    assert entry["rows"] == 50_000
    sync.pull(entry["datasetId"], tmp_path / "back.jsonl")
    assert (tmp_path / "back.jsonl").read_bytes() == path.read_bytes()


def test_the_embedded_gate_is_announced_once(caplog: pytest.LogCaptureFixture) -> None:
    _connect._say_embedded.cache_clear()
    caplog.set_level(logging.WARNING, logger="whileai_core")
    sync.datasets()
    sync.datasets()
    assert [r.message for r in caplog.records if "embedded gate" in r.message] != []
    assert caplog.text.count("embedded gate") == 1


def test_pushes_side_by_side(gate: str) -> None:
    async def push_all() -> list[dict[str, object]]:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(whileai_core.push_rows(ROWS, f"set {n % 4}")) for n in range(8)
            ]
        return [task.result() for task in tasks]

    entries = asyncio.run(push_all())
    assert len({entry["datasetId"] for entry in entries}) == 4
    assert len(sync.datasets()["datasets"]) == 4


def test_blocking_calls_inside_a_running_loop() -> None:
    async def in_a_notebook() -> tuple[int, int]:
        with pytest.raises(errors.NotFound):
            sync.preview("ds_none")
        entry = sync.push_rows(ROWS, "set")
        return len(sync.pull(entry["datasetId"])), len(await whileai_core.pull(entry["datasetId"]))

    assert asyncio.run(in_a_notebook()) == (30, 30)


def test_an_application_that_breaks_off_is_a_broken_connection() -> None:
    async def app(scope: object, receive: object, send: object) -> None:
        raise RuntimeError("bug")

    async def call() -> None:
        async with httpx.AsyncClient(transport=SpooledASGITransport(app)) as client:
            await client.get("http://gate/")

    with pytest.raises(httpx.ReadError):
        asyncio.run(call())


def test_the_gate_in_here_is_named_by_its_home_and_not_by_an_address(home):
    for call in (
        lambda: sync.delete_dataset("ds_none"),
        lambda: sync.update_dataset("ds_none", purpose="eval"),
        lambda: sync.hf_publish("ds_none"),
    ):
        with pytest.raises(errors.PlatformError) as told:
            call()
        assert f" of the local gate ({home}) -> 404" in str(told.value)
        assert "gate.embedded" not in str(told.value)
