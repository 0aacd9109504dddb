"""Killed at any moment and run again, a night gives what an undisturbed one gives."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from benchmarks.armed import NIGHTLY
from whileai_core import sync
from whileai_core.atomic import sweep_temporaries
from whileai_core.ingest.spill import sweep_spills

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]
ROOT = Path(__file__).parents[2]


def sources(folder):
    folder.mkdir()
    for name, numbers in (("a", range(25)), ("b", range(20, 40))):
        rows = [
            {"prompt": f"Ask {n * 7919} about {n}", "final_text": f"Answer {n}", "reward": n % 2}
            for n in numbers
        ]
        lines = [json.dumps(row) + "\n" for row in rows]
        (folder / f"{name}.jsonl").write_text("".join(lines) + "broken\n", encoding="utf-8")
    return str(folder)


def run(source):
    from flows.nightly import nightly

    return asyncio.run(
        nightly(paths=[source], agent="support", night=date(2026, 11, 28), max_bad_share=0.1)
    )


def state():
    """What the platform holds and every quarantined record; ids and times aside."""
    listing = sync.datasets()["datasets"]
    names = {entry["datasetId"]: entry["name"] for entry in listing}
    return sorted(
        (
            entry["name"],
            entry["purpose"],
            entry["status"],
            names.get(entry["parentDatasetId"]),
            json.dumps(sync.pull(entry["datasetId"]), sort_keys=True),
        )
        for entry in listing
    )


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, prefect_server):
    home = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WHILEAI_HOME", str(home / "home"))
        run(sources(home / "in"))
        yield state()


# One before the push and one in it; `make test-all` has the others.
TELLING = {
    "plan durable, nothing pushed",
    "all pushed, nothing remembered",
}


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param(moment, marks=[] if moment in TELLING else pytest.mark.slow)
        for moment in NIGHTLY
    ],
)
def test_a_killed_night_run_again_equals_an_undisturbed_one(
    moment, undisturbed, tmp_path, home, prefect_server
):
    source = sources(tmp_path / "in")
    killed = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("killed_night.py")), moment, source],
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PREFECT_API_URL": prefect_server,
            "PREFECT_LOGGING_LEVEL": "CRITICAL",
        },
        check=False,
        timeout=100,
        capture_output=True,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    result = run(source)
    assert state() == undisturbed
    assert sum(len(night["datasets"]) for night in [result, *result["resumed"]]) in (0, 2)
    assert run(source)["account"]["files"] == 0
    assert sweep_temporaries(home) == sweep_spills(home / "work") == 0
    assert not list(home.rglob("*.tmp"))
    assert not list((home / "work").glob("*"))
    shutil.rmtree(home)
