"""A night on several machines that share nothing but a bucket and a database.

Each machine is a process with a home and a working folder of its own. The bucket is a server
that speaks S3, the databases are PostgreSQL's, the cluster is a real Dask scheduler with two
workers.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import shutil
import signal
import socket
import subprocess
import sys
from datetime import date
from importlib.util import find_spec
from pathlib import Path

import pytest

from whileai_core import sync
from whileai_core.errors import SettingsError, StoreError

pytestmark = [
    pytest.mark.skipif(find_spec("moto") is None, reason="no S3 server for tests is installed"),
    pytest.mark.skipif(find_spec("prefect_dask") is None, reason="prefect-dask is not installed"),
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]
ROOT = Path(__file__).parents[2]
PURSE = {
    "AWS_ACCESS_KEY_ID": "worker",
    "AWS_SECRET_ACCESS_KEY": "only-in-the-environment",
    "AWS_DEFAULT_REGION": "us-east-1",
}
FILES = 4


def rows(numbers):
    return [
        {"prompt": f"Ask {n * 7919} about {n}", "final_text": f"Answer {n}", "reward": n % 2}
        for n in numbers
    ]


def text(values):
    return "".join(json.dumps(value) + "\n" for value in values) + "broken\n"


@pytest.fixture(scope="module")
def bucket():
    """An S3 server with files of traces in `traces`; gives what a machine needs to use it."""
    import fsspec
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel("ERROR")
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    environment = {**PURSE, "AWS_ENDPOINT_URL": "http://{}:{}".format(*server.get_host_and_port())}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        files = fsspec.filesystem("s3", use_listings_cache=False)
        for name in ("traces", "shared"):
            files.mkdir(name)
        for n in range(FILES):
            name = f"traces/night/{n}.jsonl"
            files.pipe_file(name, text(rows(range(n * 15, n * 15 + 20))).encode())
        yield environment
        type(files).clear_instance_cache()
    server.stop()


@pytest.fixture(scope="module")
def machine(bucket, tmp_path_factory):
    """Set up a machine: its environment and its working folder, nothing of ours in it."""

    def new(name, **settings):
        folder = tmp_path_factory.mktemp(name)
        return {
            "cwd": folder,
            "env": {
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(ROOT),
                "HOME": str(folder),
                "WHILEAI_HOME": str(folder / "home"),
                **bucket,
                **settings,
            },
        }

    return new


@pytest.fixture(scope="module")
def cluster(machine):
    """A scheduler and two workers; gives its address and the workers."""
    from distributed import Client

    dask = [str(Path(sys.executable).with_name("dask"))]
    address = f"tcp://127.0.0.1:{_free_port()}"
    scheduler = [*dask, "scheduler", "--host", address, "--no-dashboard", "--no-show"]
    worker = [*dask, "worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    worker += ["--preload", str(Path(__file__).with_name("dying_worker.py"))]
    processes = []
    folders = []
    for command, name in ((scheduler, "scheduler"), (worker, "one"), (worker, "two")):
        place = machine(name)
        processes.append(_start(command, place))
        folders.append(place["cwd"])
    try:
        with Client(address, set_as_default=False, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, list(zip(processes, folders, strict=True))[1:]
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(timeout=20)


@pytest.fixture
def shared(postgres, monkeypatch, request):
    """Settings by which machines work on the same nights, in force for this process too."""
    settings = {
        "WHILEAI_STORE_URL": f"s3://shared/{request.node.name}/store",
        "WHILEAI_LEDGER_URL": postgres.new_database(),
        "WHILEAI_GATE_DATABASE_URL": postgres.new_database(),
        "WHILEAI_GATE_BLOB_URL": f"s3://shared/{request.node.name}/gate",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    return settings


@pytest.fixture
def on_cluster(shared, cluster, monkeypatch):
    address, workers = cluster
    monkeypatch.setenv("WHILEAI_DASK_SCHEDULER", address)
    return workers


@pytest.fixture(autouse=True)
def small_shards(monkeypatch, tmp_path_factory):
    """A file a shard, and a working folder that no worker has."""
    monkeypatch.setattr("whileai_core.ingest.discover.SHARD_BYTES", 1)
    folder = tmp_path_factory.mktemp("here")
    monkeypatch.chdir(folder)
    Path("own.jsonl").write_text(text(rows(range(200, 210))), encoding="utf-8")


def night(*paths):
    from flows.nightly import nightly

    return asyncio.run(
        nightly(
            paths=list(paths or ("s3://traces/night", "own.jsonl")),
            agent="support",
            night=date(2026, 11, 28),
            max_bad_share=0.5,
        )
    )


def state():
    """What the platform holds; ids and times aside."""
    listing = sync.datasets()["datasets"]
    names = {entry["datasetId"]: entry["name"] for entry in listing}
    return sorted(
        (
            entry["name"],
            entry["purpose"],
            names.get(entry["parentDatasetId"]),
            json.dumps(sync.pull(entry["datasetId"]), sort_keys=True),
        )
        for entry in listing
    )


@pytest.fixture(scope="module")
def alone(bucket, prefect_server, tmp_path_factory):
    """What one machine makes of the traces, with everything under its own home."""
    folder = tmp_path_factory.mktemp("alone")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHILEAI_HOME", str(folder / "home"))
        patch.chdir(folder)
        Path("own.jsonl").write_text(text(rows(range(200, 210))), encoding="utf-8")
        return night()["account"], state()


def test_a_night_on_a_cluster_equals_one_on_a_single_machine(alone, on_cluster, home):
    result = night()
    assert (result["account"], state()) == alone
    assert night()["account"]["files_known"] == FILES + 1
    for process, folder in on_cluster:
        assert process.poll() is None
        assert _names(folder / "home") <= {"prefect"}
    assert _names(home).isdisjoint({"store", "ledger.db"})


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_a_shard_loses_nothing(alone, on_cluster):
    (process, folder), (other, _) = on_cluster
    (folder / "die").touch()
    result = night()
    assert process.wait(timeout=10) == -signal.SIGKILL
    assert other.poll() is None
    assert (result["account"], state()) == alone


@pytest.mark.slow
def test_two_machines_that_start_the_same_night_at_once_double_nothing(
    shared, machine, prefect_server
):
    from_bucket = "s3://traces/night"
    command = [sys.executable, "-m", "whileai_core.cli", "nightly", from_bucket, "--json"]
    command += ["--agent", "support", "--night", "2026-11-28", "--max-bad-share", "0.5"]
    places = [machine(name, **shared, PREFECT_API_URL=prefect_server) for name in ("three", "four")]
    runs = [_start(command, place) for place in places]
    ends = [run.wait(timeout=100) for run in runs]
    assert ends == [0, 0], [(place["cwd"] / "errors").read_text() for place in places]
    answers = [(place["cwd"] / "answer").read_text() for place in places]
    first, second = sorted(map(json.loads, answers), key=lambda result: -len(result["datasets"]))
    assert len(first["datasets"]) == 2
    assert (second["datasets"], second["account"]["files_known"]) == ([], FILES)
    held = sum(entry["rows"] for entry in sync.datasets()["datasets"])
    assert held == first["account"]["rows"] == 65


@pytest.mark.slow
def test_a_run_killed_with_its_machine_is_finished_by_another(
    alone, shared, machine, prefect_server
):
    lost = machine("lost", **shared, PREFECT_API_URL=prefect_server)
    shutil.copy("own.jsonl", lost["cwd"])
    command = [sys.executable, str(Path(__file__).with_name("killed_night.py"))]
    command += ["all pushed, nothing remembered", "s3://traces/night", "own.jsonl"]
    run = _start(command, lost)
    assert run.wait(timeout=100) == -signal.SIGKILL, (lost["cwd"] / "errors").read_text()
    result = night()
    (resumed,) = result["resumed"]
    assert (resumed["account"], state()) == alone
    assert result["account"]["files_known"] == FILES + 1


def test_a_cluster_that_is_not_there_and_one_that_cannot_work_are_named(shared, monkeypatch):
    import dask

    monkeypatch.setenv("WHILEAI_DASK_SCHEDULER", f"tcp://127.0.0.1:{_free_port()}")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "0.5s"}),
        pytest.raises(StoreError, match="no Dask scheduler answers at tcp://127.0.0.1"),
    ):
        night()
    monkeypatch.setenv("WHILEAI_STORE_URL", "/var/lib/store")
    with pytest.raises(SettingsError, match="the store /var/lib/store is this machine's alone"):
        night()
    assert sync.datasets()["datasets"] == []


def _start(command, place):
    with (place["cwd"] / "answer").open("wb") as out, (place["cwd"] / "errors").open("wb") as err:
        return subprocess.Popen(command, **place, stdout=out, stderr=err)


def _names(folder):
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


def _free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
