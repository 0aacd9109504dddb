"""What `serve` and `deploy` refuse before anything starts, and where Prefect's data are."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from whileai_core.cli.main import main

ROOT = Path(__file__).parents[2]


def serve(home, *options):
    return subprocess.run(
        [sys.executable, "-m", "whileai_core.cli", "serve", *options],
        env={**os.environ, "WHILEAI_HOME": str(home), "PYTHONPATH": str(ROOT)},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.mark.parametrize("option", ["--prefect-port", "--gate-port"])
def test_a_port_that_is_taken_is_told_before_anything_starts(option, tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        port, free = taken.getsockname()[1], other.getsockname()[1]
        other.close()
        other_option = {"--prefect-port": "--gate-port", "--gate-port": "--prefect-port"}[option]
        done = serve(tmp_path, option, str(port), other_option, str(free))
    assert done.returncode == 1
    told = f"whileai-pipelines: port {port} is taken; choose another with {option}\n"
    assert done.stderr == told
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize(
    ("ports", "told"),
    [
        (("4391", "4391"), "port 4391 is for Prefect already; choose another with --gate-port"),
        (("4391", "0"), "--gate-port 0 would be any port"),
    ],
)
def test_ports_that_cannot_be_meant_are_refused(ports, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("WHILEAI_HOME", str(tmp_path))
    assert main(["serve", "--prefect-port", ports[0], "--gate-port", ports[1]]) == 1
    assert told in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_serve_takes_the_options_of_serve():
    options = "SERVE_OPTIONS=--prefect-port 4300"
    make = ["make", "--no-print-directory", "--dry-run", "serve", options]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("whileai-pipelines serve --prefect-port 4300")


@pytest.fixture
def surroundings(tmp_path, monkeypatch):
    """The environment of somebody who uses another Prefect server."""
    for name in [name for name in os.environ if name.startswith(("PREFECT_", "WHILEAI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WHILEAI_HOME", "ours")
    monkeypatch.setenv("PREFECT_API_URL", "https://prefect.example.org/api")
    monkeypatch.setenv("PREFECT_PROFILE", "theirs")
    return tmp_path


def told():
    from deployments.serve import Addresses, environment_of, where_kept

    environment = environment_of(Addresses("127.0.0.1", 4391, 8391))
    assert environment["PREFECT_API_URL"] == "http://127.0.0.1:4391/api"
    return environment, where_kept(environment)


def test_the_server_of_serve_is_its_own_whatever_server_and_profile_are_set(surroundings):
    environment, where = told()
    own = str(surroundings / "ours" / "prefect")
    assert environment["PREFECT_HOME"] == where == own
    assert "PREFECT_PROFILE" not in environment
    # Runs have another working folder than we do.
    assert environment["WHILEAI_HOME"] == str(surroundings / "ours")


def test_a_home_or_database_that_somebody_chose_for_prefect_is_used_and_told(
    surroundings, monkeypatch
):
    monkeypatch.setenv("PREFECT_HOME", "/srv/prefect")
    environment, where = told()
    assert (environment["PREFECT_HOME"], environment["PREFECT_PROFILE"]) == (
        "/srv/prefect",
        "theirs",
    )
    assert where == "/srv/prefect (as PREFECT_HOME says)"

    url = "postgresql+asyncpg://prefect:secret@db/prefect"
    monkeypatch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", url)
    environment, where = told()
    assert environment["PREFECT_SERVER_DATABASE_CONNECTION_URL"] == url
    assert where == "in the database of PREFECT_SERVER_DATABASE_CONNECTION_URL"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["a.jsonl", "--agent", "a", "--timezone", "Europe/Paris"], "--timezone is the zone of"),
        (["--cron", "0 1 * * *"], "--cron is for a night"),
        (["a.jsonl"], "needs both PATHS and --agent"),
    ],
)
def test_half_a_schedule_is_a_usage_error(options, said, capsys):
    assert main(["deploy", *options]) == 2
    assert said in capsys.readouterr().err
