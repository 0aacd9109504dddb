"""The schema: shipped migrations, upgraded once, current ones opened without alembic."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

import whileai_core.gate.migrations as migrations
from whileai_core.errors import StoreError
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate
from whileai_core.gate.tables import Base


async def _open(folder: Path) -> None:
    async with open_gate(GateSettings(folder=folder)):
        pass


def test_the_known_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    assert ScriptDirectory.from_config(config).get_heads() == [migrations.HEAD]


def test_migrations_make_the_tables_the_code_uses(tmp_path: Path) -> None:
    asyncio.run(_open(tmp_path))
    engine = create_engine(f"sqlite:///{tmp_path / 'gate.db'}")
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, Base.metadata) == []
    engine.dispose()


def test_the_database_is_in_wal_mode(tmp_path: Path) -> None:
    asyncio.run(_open(tmp_path))
    connection = sqlite3.connect(tmp_path / "gate.db")
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


_REOPEN = """
import asyncio, sys
from pathlib import Path
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate
async def main():
    async with open_gate(GateSettings(folder=Path(sys.argv[1]))):
        print("alembic" in sys.modules)
asyncio.run(main())
"""


def test_a_current_database_opens_without_alembic(tmp_path: Path) -> None:
    command = [sys.executable, "-c", _REOPEN, str(tmp_path)]
    seen = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    assert [run.stdout.strip() for run in seen] == ["True", "False"]


def test_an_upgrade_that_dies_half_way_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
        asyncio.run(_open(tmp_path))
    connection = sqlite3.connect(tmp_path / "gate.db")
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == []
    connection.close()
    monkeypatch.undo()
    asyncio.run(_open(tmp_path))


def test_a_database_of_a_newer_release_is_refused(tmp_path: Path) -> None:
    asyncio.run(_open(tmp_path))
    connection = sqlite3.connect(tmp_path / "gate.db")
    with connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(StoreError, match="newer release"):
        asyncio.run(_open(tmp_path))
