"""Installed copies on machines of their own: one deploys, the worker of another runs everything.

The machines share a Prefect server, a store and two databases, and nothing else: each has a copy
laid out as the wheel installs it, a home, a Prefect home and a working folder of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import Served
from local_hub import TOKEN, LocalHub

ROOT = Path(__file__).parents[2]
DEMO = "whileai_core.simulation.demo"


def wheel_folders() -> dict[Path, Path]:
    """Which folders of the checkout go where in the wheel."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]
    wheel = build["targets"]["wheel"]
    return {Path(name): Path(name) for name in wheel["packages"]} | {
        Path(here): Path(there) for here, there in wheel["force-include"].items()
    }


def test_the_wheel_holds_the_code_of_every_deployment():
    folders = wheel_folders()
    file = Path("deployments/prefect.yaml")
    entries = yaml.safe_load((ROOT / file).read_text("utf-8"))["deployments"]
    files = [file, *(Path(entry["entrypoint"].partition(":")[0]) for entry in entries)]
    for path in files:
        assert (ROOT / path).is_file()
        assert folders[path.parent] == Path("whileai_core/_pipelines") / path.parent
    assert folders[Path("tasks")] == Path("whileai_core/_pipelines/tasks")


@pytest.fixture
def machine(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Set up a machine with an installed copy; gives its folder and environment."""

    def new(name: str, **settings: str) -> dict[str, Any]:
        folder = tmp_path / name
        for here, there in wheel_folders().items():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / here, folder / "site" / there, ignore=ignored)
        (folder / "work").mkdir()
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(folder / "site"),
            "PREFECT_HOME": str(folder / "prefect"),
            "WHILEAI_HOME": str(folder / "home"),
            **settings,
        }
        return {"cwd": folder / "work", "env": environment}

    return new


@contextmanager
def worker_of(pool: str, place: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "prefect", "worker", "start", "--pool", pool]
    with (place["cwd"] / "said").open("wb") as said:
        process = subprocess.Popen(command, **place, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_worker_elsewhere_runs_every_flow_that_an_installed_copy_registered(
    machine, postgres, prefect_server, tmp_path
):
    traces, store = (f"file://{tmp_path}/{name}" for name in ("traces", "shared"))
    (tmp_path / "traces").mkdir()
    rows = [{"prompt": f"Ask {n * 7919}", "final_text": f"Answer {n}"} for n in range(20)]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "traces" / "a.jsonl").write_text(text)
    hub = LocalHub()
    shared = {
        "WHILEAI_STORE_URL": f"{store}/store",
        "WHILEAI_LEDGER_URL": postgres.new_database(),
        "WHILEAI_GATE_DATABASE_URL": postgres.new_database(),
        "WHILEAI_GATE_BLOB_URL": f"{store}/gate",
    }
    own = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "WHILEAI_ALLOWED_IMPORTS": DEMO}
    desk = machine("desk", PREFECT_API_URL=prefect_server)
    place = machine("far", PREFECT_API_URL=prefect_server, PREFECT_WORKER_QUERY_SECONDS="1")
    place["env"] |= shared | own
    try:
        deploy = [sys.executable, "-m", "whileai_core.cli", "deploy", traces]
        deploy += ["--agent", "support", "--pool", "nights"]
        done = subprocess.run(deploy, **desk, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        with worker_of("nights", place) as worker:
            ui = prefect_server.removesuffix("/api")
            far = Served(worker, place["cwd"], ui, "", place["env"])

            def completed(deployment: str, **parameters: Any) -> dict[str, Any]:
                run = far.run(deployment, parameters)
                assert run["state"]["type"] == "COMPLETED", run["state"]["message"]
                return run

            tags = completed("nightly/support")["tags"]
            held = json.loads(far.command("datasets", "--json"))["datasets"]
            assert {f"dataset:{entry['datasetId']}" for entry in held} <= set(tags)
            (train,) = [entry for entry in held if entry["purpose"] == "train"]
            demo = {"agent": f"{DEMO}:flawed_agent", "tools": f"{DEMO}:TOOLS"}
            small = {"budget": 16, "holdout_tasks": 4, "rounds": 1}
            completed("hill-climb/hill-climb", name="shop", **demo, **small)
            completed("hub-publish/publish", dataset_id=train["datasetId"])
            ((_, repo),) = hub.repos
            completed("hub-import/import", repo=repo, name="back")
        listing = json.loads(far.command("datasets", "--json"))["datasets"]
    finally:
        hub.close()
    (back,) = [entry for entry in listing if entry["name"] == "back"]
    assert back["rows"] == train["rows"]
    # Each ran its own copy, and kept nothing of the others' at home.
    assert list((tmp_path / "far/site/whileai_core/_pipelines/flows").rglob("nightly.*.pyc"))
    assert not (tmp_path / "desk/home").exists() or not list((tmp_path / "desk/home").rglob("*.db"))
    assert not list((tmp_path / "far/home").rglob("ledger.db"))
