"""The database of one gate: SQLite in WAL mode by default, PostgreSQL by URL.

Nothing here outlives its `Database`, and a `Database` belongs to the event loop it was opened
in; open one per loop.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import anyio
from sqlalchemy import URL, event
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine

from whileai_core.dburl import parse_database_url
from whileai_core.errors import MissingExtra, SettingsError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from sqlalchemy import Connection, Pool

    from whileai_core.gate.settings import GateSettings

BUSY_SECONDS = 30
_WRITES = "gate_writes"
_DRIVERS = {"sqlite": "sqlite+aiosqlite", "postgresql": "postgresql+asyncpg"}


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def database_url(settings: GateSettings) -> URL:
    """Return the URL of the gate's database with its async driver.

    Raises:
        SettingsError: The URL is malformed or names another kind of database.
    """
    if settings.database_url is None:
        return URL.create(_DRIVERS["sqlite"], database=str(settings.folder / "gate.db"))
    url = parse_database_url(settings.database_url, setting="WHILEAI_GATE_DATABASE_URL")
    driver = _DRIVERS.get(url.get_backend_name())
    if driver is None:
        raise SettingsError(
            f"WHILEAI_GATE_DATABASE_URL names {url.get_backend_name()!r}; "
            "the gate runs on sqlite and postgresql"
        )
    if driver == _DRIVERS["sqlite"] and url.database in (None, "", ":memory:"):
        raise SettingsError(
            "WHILEAI_GATE_DATABASE_URL names a database in memory, which would be lost and "
            "cannot be shared; name a file: sqlite:////folder/gate.db"
        )
    return url.set(drivername=driver)


def create_engine(url: URL, *, pool_class: type[Pool] | None = None) -> AsyncEngine:
    """Return an engine with the connection settings the gate relies on.

    Raises:
        MissingExtra: The driver of the database is not installed.
    """
    options: dict[str, Any] = {"hide_parameters": True}
    if pool_class is not None:
        options["poolclass"] = pool_class
    if url.get_backend_name() == "postgresql":
        options.setdefault("pool_pre_ping", True)
    try:
        engine = create_async_engine(url, **options)
    except ModuleNotFoundError as error:
        raise MissingExtra.named("postgres", f"the gate's database needs {error.name}") from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine.sync_engine, "connect", _prepare_sqlite_connection)
        event.listen(engine.sync_engine, "begin", _begin_sqlite_transaction)
    return engine


def writing(engine: AsyncEngine) -> AsyncEngine:
    """Return a view of the engine whose transactions take the write lock when they begin."""
    return engine.execution_options(**{_WRITES: True})


class Database:
    """Short transactions on one engine; readers never wait for writers."""

    def __init__(self, engine: AsyncEngine) -> None:
        self._reads = engine
        self._writes = writing(engine)
        # SQLite has one writer: waiting here is fair and cheap, waiting in the file is neither.
        single_writer = engine.dialect.name == "sqlite"
        self._turn = anyio.Semaphore(1) if single_writer else contextlib.nullcontext()

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncSession]:
        """Open a transaction that only reads."""
        async with AsyncSession(self._reads, expire_on_commit=False) as session:
            yield session

    @contextlib.asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncSession]:
        """Open a transaction that commits at the end of the block, or rolls back on an error."""
        async with (
            self._turn,
            AsyncSession(self._writes, expire_on_commit=False) as session,
            session.begin(),
        ):
            yield session


def _prepare_sqlite_connection(connection: Any, _record: object) -> None:
    # Transactions are begun by `_begin_sqlite_transaction`, not guessed by the driver.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _begin_sqlite_transaction(connection: Connection) -> None:
    # A transaction that reads first and writes later can fail at once with "locked" when
    # another one wrote in between; IMMEDIATE waits for its turn at the start instead.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
