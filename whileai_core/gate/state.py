"""A running gate: its settings, database, blobs and signer, opened and closed together."""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from sqlalchemy.exc import SQLAlchemyError

from whileai_core.errors import StoreError
from whileai_core.gate.accounts import ensure_server
from whileai_core.gate.blobs import BlobStore, open_blobs
from whileai_core.gate.database import Database, create_engine, database_url
from whileai_core.gate.garbage import collect_due
from whileai_core.gate.limits import Buckets
from whileai_core.gate.migrate import ensure_schema
from whileai_core.gate.permits import Signer

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from whileai_core.gate.settings import GateSettings


@dataclass(frozen=True)
class Gate:
    """What the routes work with.

    Attributes:
        requests: Rate limit by key.
        failures: Rate limit of failed authentication by address.
        checks: Lets one thing at a time hold all rows of a dataset.
        closing: Set when the gate is about to close: long work is left to the next one.
    """

    settings: GateSettings
    database: Database
    blobs: BlobStore
    signer: Signer
    requests: Buckets
    failures: Buckets
    checks: anyio.CapacityLimiter
    closing: anyio.Event = field(default_factory=anyio.Event)


@contextlib.asynccontextmanager
async def open_gate(settings: GateSettings) -> AsyncIterator[Gate]:
    """Open a gate: schema brought up to date, leftovers of crashes removed.

    Cheap when the schema is current. Any number may be open on one folder, in one process or
    several.

    Raises:
        StoreError: The folder, database or blob store cannot be used.
    """
    try:
        settings.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        blobs = await anyio.to_thread.run_sync(open_blobs, settings)
    except OSError as error:
        raise StoreError(f"the gate cannot use its folder {settings.folder}: {error}") from error
    engine = create_engine(database_url(settings))
    try:
        database = Database(engine)
        try:
            await ensure_schema(engine)
            signer = Signer(await ensure_server(database))
            await anyio.to_thread.run_sync(blobs.sweep)
            await collect_due(database, blobs)
        except (SQLAlchemyError, sqlite3.Error, OSError) as error:
            raise StoreError(
                f"the gate cannot open its database or blobs in {settings.folder}: "
                f"{getattr(error, 'orig', None) or error}; free space, fix rights or start it, "
                "then try again"
            ) from error
        yield Gate(
            settings,
            database,
            blobs,
            signer,
            requests=Buckets(settings.key_rate, settings.key_burst),
            failures=Buckets(settings.failure_rate, settings.failure_burst),
            checks=anyio.CapacityLimiter(1),
        )
    finally:
        await engine.dispose()
