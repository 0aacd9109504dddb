"""Bring the database to the newest schema, once, whoever starts first.

The upgrade is one transaction that holds the write lock from its beginning (SQLite) or an
advisory lock (PostgreSQL). A second process waits for it and then finds nothing to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread
from sqlalchemy import inspect, text
from sqlalchemy.pool import NullPool

from whileai_core.errors import StoreError
from whileai_core.gate.database import BUSY_SECONDS, create_engine, writing
from whileai_core.gate.migrations import HEAD

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection
    from sqlalchemy.ext.asyncio import AsyncEngine

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_MIGRATIONS = Path(__file__).parent / "migrations"
_POSTGRES_LOCK = 0x7A705F67617465  # any number, the same in every process
_WAL_RETRY_SECONDS = 0.05
# Alembic keeps its context in module globals: one upgrade at a time in a process.
_one_at_a_time = threading.Lock()


async def ensure_schema(engine: AsyncEngine) -> None:
    """Upgrade the schema unless it is current.

    Raises:
        StoreError: The database belongs to a newer release.
    """
    async with engine.connect() as connection:
        current = await connection.run_sync(schema_revision)
    if current != HEAD:
        # A thread of its own with a loop of its own: the caller's loop is not blocked.
        await anyio.to_thread.run_sync(_upgrade, engine.url)


def schema_revision(connection: Connection) -> str | None:
    """Return the revision the database is at; None when it is empty."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(url: URL) -> None:
    with _one_at_a_time:
        if url.get_backend_name() == "sqlite":
            _switch_to_wal(str(url.database))
        asyncio.run(_upgrade_once(url))


async def _upgrade_once(url: URL) -> None:
    engine = create_engine(url, pool_class=NullPool)
    try:
        async with writing(engine).begin() as connection:
            if url.get_backend_name() == "postgresql":
                await connection.execute(text(f"SELECT pg_advisory_xact_lock({_POSTGRES_LOCK})"))
            await connection.run_sync(_run_alembic)
    finally:
        await engine.dispose()


def _switch_to_wal(database: str) -> None:
    """Switch the file to write-ahead logging, which it then remembers.

    SQLite does not wait for other connections here as it does elsewhere, so we do.
    """
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            with contextlib.closing(sqlite3.connect(database)) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _BUSY or time.monotonic() > give_up:
                raise
            time.sleep(_WAL_RETRY_SECONDS)
        else:
            return


def _run_alembic(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    if schema_revision(connection) == HEAD:  # somebody else was first
        return
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise StoreError(
            "the gate's database was written by a newer release of whileai-pipelines; "
            "install that release or point WHILEAI_GATE_DATABASE_URL elsewhere"
        ) from None
