"""Gates on SQLite and on PostgreSQL, served for a module; every test has own accounts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gate_kit import Served, User
from postgres_kit import Cluster

from whileai_core.gate.settings import GateSettings


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def new_database(request: pytest.FixtureRequest) -> Callable[[], str | None]:
    """Make fresh databases, SQLite's or PostgreSQL's: every test that uses this runs on both.

    None stands for SQLite in the folder of a gate.
    """
    if request.param == "sqlite":
        return lambda: None
    cluster: Cluster = request.getfixturevalue("postgres")
    return cluster.new_database


@pytest.fixture
def database_url(
    new_database: Callable[[], str | None], monkeypatch: pytest.MonkeyPatch
) -> str | None:
    """A fresh database, which the environment names too."""
    url = new_database()
    if url is not None:
        monkeypatch.setenv("WHILEAI_GATE_DATABASE_URL", url)
    return url


@pytest.fixture
def gate_settings(tmp_path: Path, database_url: str | None) -> GateSettings:
    """Settings of an empty gate."""
    return GateSettings(folder=tmp_path / "gate", database_url=database_url)


@pytest.fixture(scope="module")
def served(
    new_database: Callable[[], str | None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("gate")
    with Served(GateSettings(folder=folder, database_url=new_database())) as gate:
        yield gate


@pytest.fixture
def new_user(served: Served) -> Callable[[], User]:
    return served.user


@pytest.fixture
def user(served: Served) -> User:
    return served.user()


@pytest.fixture
def serve_with(gate_settings: GateSettings) -> Iterator[Callable[..., Served]]:
    """Serve further gates, on one store, with settings of a test's own."""
    with contextlib.ExitStack() as running:

        def start(**settings: Any) -> Served:
            chosen = dataclasses.replace(gate_settings, **settings)
            return running.enter_context(Served(chosen))

        yield start


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
