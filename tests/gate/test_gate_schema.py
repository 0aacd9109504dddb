"""The schema: shipped migrations, upgraded once, current ones opened without alembic."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from gate_kit import run_sql
from sqlalchemy import Connection, inspect

import whileai_core.gate.migrations as migrations
from whileai_core.errors import StoreError
from whileai_core.gate.database import create_engine, database_url
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate
from whileai_core.gate.tables import Base


async def _open(settings: GateSettings) -> None:
    async with open_gate(settings):
        pass


def _tables(settings: GateSettings) -> list[str]:
    engine = create_engine(database_url(settings))

    async def names() -> list[str]:
        async with engine.connect() as connection:
            found = await connection.run_sync(lambda sync: inspect(sync).get_table_names())
        await engine.dispose()
        return found

    return asyncio.run(names())


def test_the_known_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.HEAD]


def test_migrations_make_the_tables_the_code_uses(gate_settings: GateSettings) -> None:
    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        return list(compare_metadata(context, Base.metadata))

    async def compare() -> list[Any]:
        await _open(gate_settings)
        engine = create_engine(database_url(gate_settings))
        async with engine.connect() as connection:
            found = await connection.run_sync(differences)
        await engine.dispose()
        return found

    assert asyncio.run(compare()) == []


def test_the_database_is_in_wal_mode(tmp_path: Path) -> None:
    settings = GateSettings(folder=tmp_path)
    asyncio.run(_open(settings))
    assert run_sql(settings, "PRAGMA journal_mode") == [("wal",)]


_REOPEN = """
import asyncio, sys
from pathlib import Path
from typing import Any
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate
from whileai_core.settings import Settings
async def main():
    async with open_gate(GateSettings.from_settings(Settings(home=Path(sys.argv[1])))):
        print("alembic" in sys.modules)
asyncio.run(main())
"""


@pytest.mark.usefixtures("database_url")
def test_a_current_database_opens_without_alembic(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _REOPEN, str(tmp_path)]
    seen = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout.strip() for run in seen] == ["True", "False"]


def test_an_upgrade_that_dies_half_way_leaves_nothing(
    gate_settings: GateSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic.operations import Operations

    real = Operations.create_index
    calls = 0

    def failing(*args: object, **options: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise OSError("disk gone")
        real(*args, **options)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(Operations, "create_index", failing)
    with pytest.raises(StoreError):
        asyncio.run(_open(gate_settings))
    assert _tables(gate_settings) == []
    monkeypatch.setattr(Operations, "create_index", real)
    asyncio.run(_open(gate_settings))
    assert "datasets" in _tables(gate_settings)


def test_a_database_of_a_newer_release_is_refused(gate_settings: GateSettings) -> None:
    asyncio.run(_open(gate_settings))
    run_sql(gate_settings, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(StoreError, match="newer release"):
        asyncio.run(_open(gate_settings))
