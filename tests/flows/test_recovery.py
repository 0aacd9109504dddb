"""Programs that die while a night runs: what is left equals an undisturbed night.

`python -m benchmarks.recovery` does this for every program at every moment.
"""

from __future__ import annotations

import asyncio
import os

import pytest

from benchmarks import armed, recovery

pytestmark = [
    pytest.mark.usefixtures("prefect_server"),
    pytest.mark.filterwarnings("ignore:holdout .* tasks:UserWarning"),
]


@pytest.fixture
def case(tmp_path, monkeypatch):
    """A gate as a program of its own, an account on it, and a night to run against it."""
    folder = tmp_path / "case"
    with recovery.Stage(tmp_path / "stage", programs=("gate",)) as stage:
        monkeypatch.setenv("WHILEAI_HOME", str(folder / "home"))
        monkeypatch.setenv("WHILEAI_API_URL", stage.gate)
        monkeypatch.setenv("WHILEAI_API_KEY", stage.account("case"))
        folder.mkdir()
        yield stage, folder, recovery.SCENARIOS["nightly"].prepare(folder)


def run(parameters):
    from flows.nightly import nightly

    return asyncio.run(nightly(**parameters))


def datasets(folder, stage):
    return recovery.held(stage, folder, os.environ["WHILEAI_API_KEY"], announced=False)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, prefect_server):
    folder = tmp_path_factory.mktemp("undisturbed")
    with (
        recovery.Stage(folder / "stage", programs=("gate",)) as stage,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("WHILEAI_HOME", str(folder / "home"))
        patch.setenv("WHILEAI_API_URL", stage.gate)
        patch.setenv("WHILEAI_API_KEY", stage.account("case"))
        run(recovery.SCENARIOS["nightly"].prepare(folder))
        return datasets(folder, stage)


@pytest.mark.parametrize(
    "moment",
    [
        pytest.param("plan durable, nothing pushed", marks=pytest.mark.slow),
        "train set created",
        pytest.param("train set uploaded", marks=pytest.mark.slow),
    ],
)
def test_a_gate_that_dies_loses_and_doubles_nothing(moment, case, undisturbed, monkeypatch):
    stage, folder, parameters = case
    at = armed.NIGHTLY[moment]
    owner = armed.resolve_name(at.owner)
    monkeypatch.setattr(owner, at.function, getattr(owner, at.function))
    armed.arm(at, lambda: (os.kill(stage.pid("gate"), 9), stage.bring_back("gate", moment)))
    run(parameters)
    assert datasets(folder, stage) == undisturbed
    assert recovery.left(folder) == []
    assert run(parameters)["datasets"] == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_server_gate_and_worker_die_in_one_night_and_nothing_shows_of_it(
    tmp_path, undisturbed, monkeypatch
):
    for name in ("PREFECT_API_URL", "PREFECT_SERVER_DATABASE_CONNECTION_URL"):
        monkeypatch.delenv(name, raising=False)
    blows = [
        ("worker", "a shard half written"),
        ("server", "sides half written"),
        ("gate", "train set created"),
    ]
    with recovery.Stage(tmp_path / "stage") as stage:
        outcome = recovery.run_case(stage, recovery.SCENARIOS["nightly"], tmp_path / "case", blows)
    state = dict(outcome.state)
    assert state.pop("announced") == ["support-2026-11-28", "support-2026-11-28-holdout"]
    assert state == undisturbed
    assert outcome.left == []
    assert outcome.commands <= 1
