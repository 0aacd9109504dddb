"""The operations on Hugging Face with nothing configured but a token: the gate in this process."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from hub_kit import ROWS, shards, texts
from local_hub import TOKEN, LocalHub

import whileai_core
from whileai_core import sync
from whileai_core.errors import Conflict, JobFailed, StillRunning
from whileai_core.hub import account


def idle() -> None:
    """Wait until no thread of the gate works any more."""
    for thread in threading.enumerate():
        if thread.name == "whileai-gate-jobs":
            thread.join(30)


def push(**about: str) -> str:
    return str(sync.push_rows(ROWS, "orders", **about)["datasetId"])


def test_publish_and_import_without_a_server(server: LocalHub) -> None:
    assert sync.hf_status()["username"] == "kim"
    dataset = push()
    hf = sync.hf_publish(dataset, poll=0.2)
    assert (hf["repo"], hf["tag"], hf["split"]) == ("kim/orders", f"zp-{dataset}", "train")
    assert shards(server, "kim/orders", "train") == [
        json.dumps(row, separators=(",", ":"), ensure_ascii=False).replace("\u2028", "\\u2028")
        for row in ROWS
    ]
    row = sync.import_hf("kim/orders", poll=0.2, max_rows=2)
    assert (row["status"], row["rows"]) == ("ready", 2)
    assert sync.pull(row["datasetId"]) == ROWS[:2]
    idle()


def test_a_failure_is_a_job_that_failed(server: LocalHub) -> None:
    with pytest.raises(JobFailed, match="acme/none: there is no such repository"):
        sync.import_hf("acme/none", poll=0.2)
    with pytest.raises(JobFailed, match="no member of 'strangers'"):
        sync.hf_publish(push(), namespace="strangers", poll=0.2)
    idle()


def test_without_an_account_it_says_what_to_do(
    server: LocalHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert sync.hf_status()["connected"] is False
    with pytest.raises(Conflict, match="hf connect"):
        sync.hf_publish(push())
    account.store(TOKEN)
    assert sync.hf_status()["connected"] is True


def test_giving_up_the_wait_does_not_end_the_job(server: LocalHub) -> None:
    dataset = push()
    go_on = threading.Event()
    server.fail("GET", "/api/whoami-v2", do="call", call=lambda: go_on.wait(60))

    async def hurried() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(whileai_core.hf_publish(dataset, poll=0.2), 0.3)

    asyncio.run(hurried())
    with pytest.raises(StillRunning):
        sync.hf_publish(dataset, timeout=0.1, poll=0.1)
    go_on.set()
    assert sync.hf_publish(dataset, poll=0.2)["status"] == "done"
    assert len(server.dataset("kim/orders").titles) == 1
    idle()


_BEGIN = """
import sys
from whileai_core import sync
print(sync.hf_publish(sys.argv[1], wait=False)["status"], flush=True)
"""


def begin(dataset: str, home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _BEGIN, dataset],
        env=os.environ | {"WHILEAI_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_process_that_does_not_wait_still_does_the_job(server: LocalHub, home: Path) -> None:
    dataset = push()
    with begin(dataset, home) as process:
        said, _ = process.communicate(timeout=60)
    assert (process.returncode, said) == (0, "pushing\n")
    assert len(server.dataset("kim/orders").titles) == 1


@pytest.mark.parametrize("moment", ["/verify", "/commit/main", "/tag/"])
def test_killed_at_any_moment_there_is_one_commit(
    server: LocalHub, home: Path, moment: str
) -> None:
    dataset = push()
    with begin(dataset, home) as process:
        # What was asked for is done, but nobody is there for the answer.
        server.fail("POST", moment, do="call", call=process.kill)
        process.wait(timeout=60)
    assert process.returncode == -9
    repo = server.dataset("kim/orders")
    assert len(repo.objects) == 1
    lease_ends(home)
    for _ in range(200):
        (row,) = sync.datasets()["datasets"]
        if row["hf"]["status"] == "done":
            break
        time.sleep(0.1)
    assert row["hf"]["commit"] == repo.head.id
    assert len(repo.titles) == 1
    assert repo.tags == {f"zp-{dataset}": repo.head.id}
    assert len(shards(server, "kim/orders", "train")) == len(texts(ROWS))
    idle()


def lease_ends(home: Path) -> None:
    """Let the time pass after which a dead worker's jobs are free."""
    with closing(sqlite3.connect(home / "gate" / "gate.db", timeout=20)) as database, database:
        database.execute("UPDATE jobs SET lease_until = 0")
