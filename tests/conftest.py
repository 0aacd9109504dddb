"""What all tests share: a home of their own, and one Prefect server a session for flow tests."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from postgres_kit import Cluster, find_programs, running_cluster
from xdist.scheduler import LoadGroupScheduling

# A busy machine is no fault of the code under test.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

_UNSET = (
    "WHILEAI_API_URL",
    "WHILEAI_API_KEY",
    "WHILEAI_DELEGATED_CREDENTIAL",
    "WHILEAI_STORE_URL",
    "WHILEAI_LEDGER_URL",
    "WHILEAI_GATE_DATABASE_URL",
    "WHILEAI_GATE_BLOB_URL",
    "WHILEAI_DASK_SCHEDULER",
    "HF_TOKEN",
    "HF_ENDPOINT",
    "WHILEAI_ALLOWED_IMPORTS",
    "WHILEAI_ENDPOINT_KEY",
    "OPENAI_API_KEY",
    "OPENAI_BASE_URL",
    "OLLAMA_HOST",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run all that needs the Prefect server, whose start takes seconds.

    On a busy machine it takes a minute or two, which count for the test that comes first.
    """
    for item in items:
        if "prefect_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("prefect"))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(300))


class _ByServerAndFile(LoadGroupScheduling):
    """Keep the tests of a group together, and those of a file that are in none."""

    def _split_scope(self, nodeid: str) -> str:
        return str(super()._split_scope(nodeid)).split("::", 1)[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadGroupScheduling:
    return _ByServerAndFile(config, log)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh WHILEAI_HOME, and no credential or URL from outside."""
    folder = tmp_path / "home"
    monkeypatch.setenv("WHILEAI_HOME", str(folder))
    for name in _UNSET:
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(autouse=True)
def _nothing_said_yet() -> Iterator[None]:
    """Undo what commands and flows run in this process did to the log and to SIGTERM."""
    for name in ["whileai_core", *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == "whileai_core":
            logger = logging.getLogger(name)
            logger.handlers[:] = [h for h in logger.handlers if isinstance(h, logging.NullHandler)]
            logger.setLevel(logging.NOTSET)
            logger.propagate = True
            logger.disabled = False
    ended = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, ended)


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real Prefect server, once a session, on an in-memory database; gives its API URL."""
    home = tmp_path_factory.mktemp("prefect")
    os.environ["PREFECT_HOME"] = str(home)
    os.environ["PREFECT_SERVER_ANALYTICS_ENABLED"] = "false"
    os.environ["DO_NOT_TRACK"] = "1"
    os.environ["PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW"] = "ignore"

    from prefect.settings import PREFECT_API_URL, PREFECT_HOME, temporary_settings

    from flows._server import prefect_api

    with ExitStack() as running:
        running.enter_context(
            temporary_settings({PREFECT_HOME: home}, restore_defaults={PREFECT_API_URL})
        )
        with pytest.MonkeyPatch.context() as patch:  # for the server alone
            patch.setenv("PREFECT_SERVER_DATABASE_CONNECTION_URL", "sqlite+aiosqlite:///:memory:")
            patch.setenv("PREFECT__SERVER_EPHEMERAL", "1")
            patch.setenv("PREFECT_SERVER_UI_ENABLED", "false")
            running.enter_context(prefect_api())
        yield str(PREFECT_API_URL.value())


@pytest.fixture(scope="session")
def postgres() -> Iterator[Cluster]:
    """One PostgreSQL server a session; skips where there are no programs to start one."""
    programs = find_programs()
    if programs is None:
        reason = "PostgreSQL is not installed (Debian: apt-get install postgresql)"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    with running_cluster(programs) as cluster:
        yield cluster
