"""The flows on Hugging Face: they wait by looking, and a wait that ends takes no job with it."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hub_kit import ROWS, shards
from local_hub import TOKEN, LocalHub

from whileai_core import sync
from whileai_core.errors import InputError, JobFailed, StillRunning
from whileai_core.hub import failures

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]


def idle() -> None:
    for thread in threading.enumerate():
        if thread.name == "whileai-gate-jobs":
            thread.join(30)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, home: Path) -> Iterator[LocalHub]:
    from tasks import hub_jobs

    server = LocalHub()
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setattr(failures, "BASE_SECONDS", 0.001)
    monkeypatch.setattr(hub_jobs, "POLL", 0.3)
    yield server
    idle()
    server.close()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often a job is looked at."""
    from tasks import hub_jobs

    counts: Counter[str] = Counter()
    for name in ("hf_publish_result", "import_hf_result"):
        real = getattr(hub_jobs, name)

        async def counted(thing: str, real: Any = real, name: str = name, **more: Any) -> Any:
            counts[name] += 1
            return await real(thing, **more)

        monkeypatch.setattr(hub_jobs, name, counted)
    return counts


class Hold:
    """Holds an answer of the Hub back until a job was looked at more than so many times."""

    def __init__(self, looks: Counter[str], job: str, times: float) -> None:
        self._looks, self._job, self.times = looks, job, times

    def __call__(self) -> None:
        end = time.monotonic() + 60
        while self._looks[self._job] <= self.times and time.monotonic() < end:
            time.sleep(0.01)

    def until_looked_at_again(self) -> None:
        self.times = self._looks[self._job] + 1  # the first look of a run finds the job under way


def publish(**parameters: Any) -> dict[str, Any]:
    from flows.hub_publish import hub_publish

    return asyncio.run(hub_publish(**parameters))


def take(**parameters: Any) -> dict[str, Any]:
    from flows.hub_import import hub_import

    return asyncio.run(hub_import(**parameters))


def push(**about: Any) -> str:
    return str(sync.push_rows(ROWS, "orders", **about)["datasetId"])


def runs(api: str, flow: str) -> list[dict[str, Any]]:
    asked = {"flows": {"name": {"any_": [flow]}}, "sort": "START_TIME_DESC"}
    found: list[dict[str, Any]] = httpx.post(f"{api}/flow_runs/filter", json=asked).json()
    return found


def test_a_dataset_is_published_by_id_or_by_the_event_that_announced_it(
    hub: LocalHub, looks: Counter[str], prefect_server: str
) -> None:
    train = push(purpose="train")
    held = push(purpose="holdout", parent=train)
    hold = Hold(looks, "hf_publish_result", 2)
    hub.fail("GET", "/api/whoami-v2", do="call", call=hold)
    made = publish(dataset_id=train)
    assert (made["repo"], made["split"], made["private"]) == ("kim/orders", "train", True)
    assert looks["hf_publish_result"] > 2
    assert publish(event={"dataset_id": held, "purpose": "holdout"})["repo"] == "kim/orders"
    repo = hub.dataset("kim/orders")
    assert repo.tags == {f"zp-{train}": made["commit"], f"zp-{held}": repo.head.id}
    newest, first = runs(prefect_server, "hub-publish")[:2]
    assert (first["name"], newest["name"]) == (f"hub-publish-{train}", f"hub-publish-{held}")
    assert f"dataset:{train}" in first["tags"]
    pages = httpx.post(
        f"{prefect_server}/artifacts/filter",
        json={"artifacts": {"flow_run_id": {"any_": [first["id"]]}}},
    ).json()
    assert made["url"] in pages[0]["data"]
    with pytest.raises(InputError, match="name a dataset_id"):
        publish(event={"other": 1})


def test_a_job_that_failed_is_looked_at_no_more(hub: LocalHub, looks: Counter[str]) -> None:
    with pytest.raises(JobFailed, match="no member of 'strangers'"):
        publish(dataset_id=push(), namespace="strangers")
    with pytest.raises(JobFailed, match="there is no such repository"):
        take(repo="acme/none")
    assert looks["hf_publish_result"] <= 4
    assert looks["import_hf_result"] <= 4


def test_a_wait_that_is_over_leaves_the_job_and_a_rerun_joins_it(
    hub: LocalHub, looks: Counter[str]
) -> None:
    dataset = push()
    hold = Hold(looks, "hf_publish_result", math.inf)
    hub.fail("GET", "/api/whoami-v2", do="call", call=hold)
    with pytest.raises(StillRunning, match="run the flow again"):
        publish(dataset_id=dataset, timeout=0.3)
    hold.until_looked_at_again()
    assert publish(dataset_id=dataset)["status"] == "done"
    assert hub.requests("GET", "/api/whoami-v2") == 1
    assert len(hub.dataset("kim/orders").titles) == 1


def test_a_cancelled_wait_leaves_the_job(hub: LocalHub) -> None:
    from flows.hub_publish import hub_publish

    dataset = push()
    asked, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        asked.set()
        go_on.wait(60)

    hub.fail("GET", "/api/whoami-v2", do="call", call=hold)

    async def cancelled() -> None:
        task = asyncio.create_task(hub_publish(dataset_id=dataset))
        await asyncio.to_thread(asked.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    go_on.set()
    idle()
    (row,) = sync.datasets()["datasets"]
    assert row["hf"]["status"] == "done"
    assert len(hub.dataset("kim/orders").titles) == 1


def test_an_import_gives_a_dataset_and_a_rerun_joins_the_one_under_way(
    hub: LocalHub, looks: Counter[str]
) -> None:
    publish(dataset_id=push(), private=False)
    hold = Hold(looks, "import_hf_result", math.inf)
    hub.fail("GET", "/api/datasets/kim/orders$", do="call", call=hold)
    with pytest.raises(StillRunning):
        take(repo="kim/orders", name="back", agent="Shop", timeout=0.3)
    hold.until_looked_at_again()
    row = take(repo="kim/orders", name="back", agent="Shop")
    assert (row["status"], row["rows"], row["name"], row["agent"]) == ("ready", 3, "back", "shop")
    assert sync.pull(row["datasetId"]) == ROWS
    assert len(sync.datasets()["datasets"]) == 2
    assert take(repo="kim/orders", max_rows=1)["rows"] == 1
    assert looks["import_hf_result"] > 3


def test_the_token_comes_from_a_secret_block(
    hub: LocalHub, monkeypatch: pytest.MonkeyPatch, prefect_server: str
) -> None:
    from prefect.blocks.system import Secret

    monkeypatch.delenv("HF_TOKEN")
    Secret(value=TOKEN).save("hub-token", overwrite=True)
    made = publish(dataset_id=push(), token_block="hub-token")
    assert made["status"] == "done"
    assert len(shards(hub, "kim/orders", "train")) == 3
    assert TOKEN not in str(runs(prefect_server, "hub-publish"))
    assert sync.hf_status()["connected"] is False
