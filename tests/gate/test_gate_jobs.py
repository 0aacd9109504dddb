"""Background jobs: done once, by one at a time, whoever dies in between."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from gate_kit import User
from otlp_kit import chat, request, tool, trace_id
from sqlalchemy import select, update
from test_gate_otlp import rows, send, traces

from whileai_core.errors import Unavailable
from whileai_core.gate import jobs
from whileai_core.gate.admin import create_key
from whileai_core.gate.database import now_ms
from whileai_core.gate.deliveries import JSON, read_delivery
from whileai_core.gate.embedded import embedded_gate
from whileai_core.gate.remake import note_remake
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.spans import add_spans
from whileai_core.gate.state import Gate, open_gate
from whileai_core.gate.tables import Account, Job
from whileai_core.settings import Settings

pytestmark = pytest.mark.anyio


@pytest.fixture
async def gate(gate_settings: GateSettings) -> AsyncIterator[Gate]:
    async with open_gate(gate_settings) as opened:
        yield opened


async def _add(gate: Gate, lease: float = 0) -> jobs.Claim:
    async with gate.database.write() as session:
        return await jobs.add(session, "test", {"n": 1}, lease)


async def _job(gate: Gate, number: int) -> Job | None:
    async with gate.database.read() as session:
        return await session.get(Job, number)


class _Work:
    """A handler that counts how often its effects were committed."""

    def __init__(self, failures: int = 0) -> None:
        self.begun = self.done = 0
        self._failures = failures

    async def __call__(self, gate: Gate, claim: jobs.Claim) -> None:
        self.begun += 1
        if self.begun <= self._failures:
            raise OSError("disk gone")
        async with gate.database.write() as session:
            await claim.finish(session)
        self.done += 1


async def test_a_free_job_is_done_once(gate: Gate) -> None:
    claim = await _add(gate)
    work = _Work()
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(jobs.run_due, gate, {"test": work})
    assert (work.begun, work.done) == (1, 1)
    assert await _job(gate, claim.number) is None


async def test_a_job_in_hand_is_left_alone_and_of_unknown_kind_too(gate: Gate) -> None:
    claim = await _add(gate, lease=60)
    work = _Work()
    await jobs.run_due(gate, {"test": work})
    await jobs.run_due(gate, {"other": work})
    assert work.begun == 0
    assert await jobs.run(gate, claim, work)
    assert work.done == 1


async def test_a_failed_job_waits_and_is_tried_again(gate: Gate) -> None:
    claim = await _add(gate, lease=60)
    work = _Work(failures=1)
    assert not await jobs.run(gate, claim, work)
    job = await _job(gate, claim.number)
    assert job is not None
    assert (job.state, job.error, job.lease_until > now_ms()) == (jobs.OPEN, "OSError", True)
    await _free(gate, claim.number)
    await jobs.run_due(gate, {"test": work})
    assert (work.begun, work.done) == (2, 1)


async def test_a_job_that_always_fails_is_given_up(gate: Gate) -> None:
    claim = await _add(gate)
    work = _Work(failures=99)
    for _ in range(jobs.MAX_ATTEMPTS + 3):
        await _free(gate, claim.number)
        await jobs.run_due(gate, {"test": work})
    job = await _job(gate, claim.number)
    assert job is not None
    assert (job.state, work.begun) == (jobs.FAILED, jobs.MAX_ATTEMPTS - 1)


async def _free(gate: Gate, number: int) -> None:
    async with gate.database.write() as session:
        await session.execute(update(Job).where(Job.number == number).values(lease_until=0))


async def test_a_worker_that_was_too_slow_changes_nothing(gate: Gate) -> None:
    slow = await _add(gate)
    work = _Work()
    await jobs.run_due(gate, {"test": work})  # its lease was over: another one took the job
    assert await jobs.run(gate, slow, work)
    assert (work.begun, work.done) == (2, 1)


async def test_a_lease_is_renewed_while_the_work_goes_on(gate_settings: GateSettings) -> None:
    settings = dataclasses.replace(gate_settings, lease_seconds=1.2)
    async with open_gate(settings) as gate:
        claim = await _add(gate, lease=1.2)
        begun, go_on = anyio.Event(), anyio.Event()

        async def long(gate: Gate, claim: jobs.Claim) -> None:
            begun.set()
            await go_on.wait()
            await _Work()(gate, claim)

        async with anyio.create_task_group() as group:
            group.start_soon(jobs.run, gate, claim, long)
            await begun.wait()
            await anyio.sleep(1.4)
            other = _Work()
            await jobs.run_due(gate, {"test": other})
            assert other.begun == 0
            go_on.set()
        assert await _job(gate, claim.number) is None


async def _spans_without_parts(gate: Gate) -> None:
    """Leave what a process leaves that died between storing spans and making their parts."""
    delivery = read_delivery(json.dumps(request(chat("a", "Rain?", "No."))).encode(), JSON)
    async with gate.database.write() as session:
        account = await session.scalar(select(Account.id).where(Account.name == "local"))
        assert account is not None
        gained = await add_spans(session, account, delivery.spans)
        claim = await note_remake(session, gate, account, gained)
        await session.execute(update(Job).where(Job.number == claim.number).values(lease_until=0))


@pytest.mark.usefixtures("database_url")
async def test_the_embedded_gate_carries_on_when_it_opens(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    async with open_gate(GateSettings.from_settings(settings)) as gate:
        await _spans_without_parts(gate)
    async with embedded_gate(settings) as embedded:
        transport = httpx.ASGITransport(embedded.app)
        headers = {"X-Api-Key": embedded.api_key}
        async with httpx.AsyncClient(
            transport=transport, base_url=embedded.origin, headers=headers
        ) as client:
            assert (await client.get("/traces")).json()["total"] == 1
            (row,) = (await client.get("/datasets")).json()["datasets"]
            assert row["rows"] == 1


_STUCK = """
import sys, time
from pathlib import Path
import uvicorn
from whileai_core.gate import remake
from whileai_core.gate.app import create_app
from whileai_core.gate.server import listen
from whileai_core.gate.settings import GateSettings
from whileai_core.settings import get_settings

def stuck(spans):
    print("stuck", flush=True)
    time.sleep(60)

remake.rows_from_spans = stuck
listener = listen("127.0.0.1", 0)
print(listener.getsockname()[1], flush=True)
url = get_settings().gate_database_url
settings = GateSettings(folder=Path(sys.argv[1]), database_url=url, lease_seconds=0.5)
uvicorn.Server(uvicorn.Config(create_app(settings), log_config=None)).run(sockets=[listener])
"""


def test_a_gate_killed_in_mid_ingest_carries_on_once(
    gate_settings: GateSettings, serve_with: Callable[..., Any]
) -> None:
    key = asyncio.run(create_key("team", settings=gate_settings))
    command = [sys.executable, "-c", _STUCK, str(gate_settings.folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    origin = f"http://127.0.0.1:{process.stdout.readline().strip()}"

    def deliver() -> None:
        with pytest.raises(httpx.TransportError):
            httpx.post(
                f"{origin}/v1/traces",
                json=request(chat("a", "Rain?", "No.")),
                headers={"X-Api-Key": key},
                timeout=30,
            )

    exporter = threading.Thread(target=deliver)
    exporter.start()
    assert process.stdout.readline().strip() == "stuck"
    process.send_signal(signal.SIGKILL)
    process.communicate()
    exporter.join()
    user = User(serve_with().http, key)
    for _ in range(500):
        if traces(user):
            break
        time.sleep(0.02)
    assert traces(user) == [trace_id("a")]
    (dataset,) = user.listed()
    assert len(rows(user, dataset)) == 1
    assert send(user, chat("a", "Rain?", "No."))["rows"] == 1
    assert len(rows(user, dataset)) == 1


def test_spans_of_one_trace_at_once_make_one_whole_part(user: Any) -> None:
    count = 8
    spans = [tool("a", f"tool-{number}", number) for number in range(count)]
    threads = [threading.Thread(target=send, args=(user, one)) for one in spans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answer = send(user, chat("a", "Rain?", "No.", 20))
    (row,) = rows(user, answer["datasetId"])
    assert sorted(step["tool"] for step in row["steps"]) == sorted(s["name"][13:] for s in spans)
    assert len(traces(user)) == 1


@pytest.mark.parametrize(
    ("fault", "trace"), [(OSError("odd"), True), (Unavailable("the Hub is away"), False)]
)
async def test_a_fault_that_says_what_to_do_is_logged_in_a_line(
    fault: Exception, trace: bool, gate: Gate, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_gate: Gate, _claim: jobs.Claim) -> None:
        raise fault

    claim = await _add(gate, lease=60)
    assert not await jobs.run(gate, claim, fails)
    (record,) = [one for one in caplog.records if one.name == "whileai_core.gate.jobs"]
    assert (record.exc_info is not None) == trace
    assert trace or "the Hub is away" in record.getMessage()
