"""The gate in process: many openings, loops and processes on one home."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from whileai_core.errors import SettingsError, StoreError
from whileai_core.gate.admin import create_key
from whileai_core.gate.embedded import embedded_gate
from whileai_core.gate.settings import GateSettings
from whileai_core.settings import Settings

pytestmark = pytest.mark.usefixtures("database_url")


def _client(gate: Any, key: str | None = None) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(gate.app),
        base_url=gate.origin,
        headers={"X-Api-Key": key or gate.api_key},
    )


async def _push(home: Path, data: bytes) -> str:
    async with embedded_gate(Settings(home=home)) as gate, _client(gate) as client:
        made = (await client.post("/datasets", json={"name": "n"})).json()
        assert made["uploadUrl"].startswith(gate.origin)
        assert (await client.put(made["uploadUrl"], content=data)).status_code == 200
        done = await client.post(f"/datasets/{made['datasetId']}/finalize")
        assert done.status_code == 200
        return str(made["datasetId"])


async def _listed(home: Path, key: str | None = None) -> list[str]:
    async with embedded_gate(Settings(home=home)) as gate, _client(gate, key) as client:
        answer = (await client.get("/datasets")).json()
        return [row["datasetId"] for row in answer["datasets"]]


def test_what_one_opening_pushed_the_next_one_lists(tmp_path: Path) -> None:
    dataset = asyncio.run(_push(tmp_path, b"{}\n"))
    assert asyncio.run(_listed(tmp_path)) == [dataset]


def test_a_key_for_local_shows_what_in_process_runs_pushed(tmp_path: Path) -> None:
    dataset = asyncio.run(_push(tmp_path, b"{}\n"))
    settings = GateSettings.from_settings(Settings(home=tmp_path))
    local = asyncio.run(create_key("local", settings=settings))
    team = asyncio.run(create_key("team", settings=settings))
    assert asyncio.run(_listed(tmp_path, local)) == [dataset]
    assert asyncio.run(_listed(tmp_path, team)) == []


def test_the_embedded_key_does_not_show(tmp_path: Path) -> None:
    async def check() -> None:
        async with embedded_gate(Settings(home=tmp_path)) as gate:
            assert gate.api_key.startswith("zp_")
            assert gate.api_key not in repr(gate)
            files = b"".join(path.read_bytes() for path in (tmp_path / "gate").glob("gate.db*"))
            assert gate.api_key.encode() not in files

    asyncio.run(check())


def test_an_error_of_the_caller_comes_out_as_it_is(tmp_path: Path) -> None:
    async def fail() -> None:
        async with embedded_gate(Settings(home=tmp_path)):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(fail())


def test_openings_in_one_loop_at_once(tmp_path: Path) -> None:
    async def many() -> list[str]:
        return await asyncio.gather(*(_push(tmp_path, b"{}\n") for _ in range(6)))

    made = asyncio.run(many())
    assert sorted(asyncio.run(_listed(tmp_path))) == sorted(made)


def test_loops_in_several_threads_start_a_fresh_home_at_once(tmp_path: Path) -> None:
    made: list[str] = []
    threads = [
        threading.Thread(target=lambda: made.append(asyncio.run(_push(tmp_path, b"{}\n"))))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert sorted(asyncio.run(_listed(tmp_path))) == sorted(made)


_PROCESS = """
import asyncio, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from test_gate_embedded import _push
print(asyncio.run(_push(Path(sys.argv[1]), b"{}\\n")))
"""


def test_processes_start_a_fresh_home_at_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _PROCESS, str(tmp_path), str(Path(__file__).parent)]
    processes = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    outcomes = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outcomes
    made = sorted(out.strip() for out, _ in outcomes)
    assert sorted(asyncio.run(_listed(tmp_path))) == made


def test_a_cancelled_upload_leaves_nothing(tmp_path: Path) -> None:
    async def endless() -> Any:
        while True:
            yield b'{"a": 1}\n' * 100_000
            await asyncio.sleep(0.01)

    async def check() -> None:
        async with embedded_gate(Settings(home=tmp_path)) as gate, _client(gate) as client:
            made = (await client.post("/datasets", json={"name": "n"})).json()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await client.put(made["uploadUrl"], content=endless())
            finalized = await client.post(f"/datasets/{made['datasetId']}/finalize")
            assert finalized.status_code == 409

    asyncio.run(check())
    assert not any(path.is_file() for path in (tmp_path / "gate" / "blobs").rglob("*"))


def test_whenever_an_upload_is_cancelled_it_counts_whole_or_not_at_all(tmp_path: Path) -> None:
    piece, pieces = b'{"a": 1}\n' * 100, 8
    outcomes = set()

    async def body() -> AsyncIterator[bytes]:
        for _ in range(pieces):
            yield piece
            await asyncio.sleep(0.002)

    async def attempt(client: httpx.AsyncClient, seconds: float) -> None:
        made = (await client.post("/datasets", json={"name": "n"})).json()
        dataset = f"/datasets/{made['datasetId']}"
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await client.put(made["uploadUrl"], content=body())
        finalized = await client.post(f"{dataset}/finalize")
        outcomes.add(finalized.status_code)
        if finalized.status_code == 200:
            part = (await client.get(f"{dataset}/download")).json()["parts"][0]
            assert (await client.get(part)).content == piece * pieces

    async def check() -> None:
        async with embedded_gate(Settings(home=tmp_path)) as gate, _client(gate) as client:
            for step in range(40):
                await attempt(client, step / 1000)
            await attempt(client, 10)

    asyncio.run(check())
    assert outcomes == {200, 409}


def test_an_unusable_home_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "gate").write_text("a file where the folder should be")
    with pytest.raises(StoreError, match="folder"):
        asyncio.run(_listed(tmp_path))


def test_a_file_that_is_no_database_is_one_clear_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WHILEAI_GATE_DATABASE_URL", raising=False)
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "gate.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match="database"):
        asyncio.run(_listed(tmp_path))


@pytest.mark.parametrize("url", ["mysql://h/d", "no url", "sqlite://", "sqlite:///:memory:"])
def test_unusable_database_urls_are_refused(tmp_path: Path, url: str) -> None:
    settings = GateSettings(folder=tmp_path, database_url=url)
    with pytest.raises(SettingsError, match="WHILEAI_GATE_DATABASE_URL"):
        asyncio.run(create_key("a", settings=settings))


def test_blobs_may_live_behind_an_fsspec_url(tmp_path: Path) -> None:
    home = Settings(home=tmp_path, gate_blob_url="memory://gate-test-blobs")

    async def check() -> None:
        async with embedded_gate(home) as gate, _client(gate) as client:
            made = (await client.post("/datasets", json={"name": "n"})).json()
            for data in (b"[1]\n", b'{"a": 1}\n' * 300_000):
                assert (await client.put(made["uploadUrl"], content=data)).status_code == 200
                await client.post(f"/datasets/{made['datasetId']}/finalize")
                grant = (await client.get(f"/datasets/{made['datasetId']}/download")).json()
                assert (await client.get(grant["parts"][0])).content == data
            await client.delete(f"/datasets/{made['datasetId']}")

    asyncio.run(check())
    import fsspec

    assert fsspec.filesystem("memory").find("/gate-test-blobs") == []


def test_memory_does_not_grow_with_the_upload(tmp_path: Path) -> None:
    line = b'{"a": "%s"}\n' % (b"x" * 10_000)
    chunks, lines = 48, 100

    async def body() -> AsyncIterator[bytes]:
        for _ in range(chunks):
            yield line * lines

    async def check() -> None:
        async with embedded_gate(Settings(home=tmp_path)) as gate, _client(gate) as client:
            made = (await client.post("/datasets", json={"name": "n"})).json()
            await client.put(made["uploadUrl"], content=line)  # loads what the first use loads
            tracemalloc.start()
            await client.put(made["uploadUrl"], content=body())
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < len(line) * lines * chunks / 4
            done = (await client.post(f"/datasets/{made['datasetId']}/finalize")).json()
            assert done["rows"] == chunks * lines

    asyncio.run(check())
