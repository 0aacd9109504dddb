"""A gate served over real HTTP on loopback, and an account's view of it."""

from __future__ import annotations

import asyncio
import threading
import uuid
from dataclasses import dataclass
from typing import Any

import httpx
import uvicorn
from sqlalchemy import text

from whileai_core.gate.admin import create_key
from whileai_core.gate.app import create_app
from whileai_core.gate.database import create_engine, database_url
from whileai_core.gate.server import listen
from whileai_core.gate.settings import GateSettings


@dataclass(frozen=True)
class User:
    """An account's view of a gate."""

    http: httpx.Client
    key: str

    def call(self, method: str, path: str, status: int, **options: Any) -> Any:
        """Make a call with the key, check its status, return the JSON."""
        headers = {"X-Api-Key": self.key} | options.pop("headers", {})
        reply = self.http.request(method, path, headers=headers, **options)
        assert reply.status_code == status, reply.text
        return reply.json()

    def create(self, **fields: Any) -> tuple[str, str]:
        """Create a dataset; return its id and upload address."""
        made = self.call("POST", "/datasets", 201, json={"name": "set"} | fields)
        return made["datasetId"], made["uploadUrl"]

    def push(self, data: bytes, **fields: Any) -> str:
        """Create, upload and finalize a dataset; return its id."""
        dataset, url = self.create(**fields)
        assert self.http.put(url, content=data).status_code == 200
        self.call("POST", f"/datasets/{dataset}/finalize", 200)
        return dataset

    def fetch(self, dataset: str) -> bytes:
        """Download a dataset's only part."""
        grant = self.call("GET", f"/datasets/{dataset}/download", 200)
        (url,) = grant["parts"]
        reply = self.http.get(url)
        assert reply.status_code == 200
        return reply.content

    def listed(self) -> list[str]:
        """Return the ids of the datasets listed."""
        return [row["datasetId"] for row in self.call("GET", "/datasets", 200)["datasets"]]


class Served:
    """A gate served by uvicorn in a thread."""

    def __init__(self, settings: GateSettings) -> None:
        self.settings = settings
        self._listener = listen("127.0.0.1", 0)
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        config = uvicorn.Config(create_app(settings), lifespan="on", log_config=None)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._listener]}
        )
        self.http = httpx.Client(base_url=self.origin, timeout=30)

    def __enter__(self) -> Served:
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            threading.Event().wait(0.01)
        assert self._server.started
        return self

    def __exit__(self, *_exc: object) -> None:
        self.http.close()
        self._server.should_exit = True
        self._thread.join()
        self._listener.close()

    def user(self) -> User:
        """Make a new account and return its view."""
        key = asyncio.run(create_key(uuid.uuid4().hex, settings=self.settings))
        return User(self.http, key)


def run_sql(settings: GateSettings, statement: str) -> list[Any]:
    """Run one statement on a gate's database; return its rows as tuples."""

    async def run() -> list[Any]:
        engine = create_engine(database_url(settings))
        try:
            async with engine.begin() as connection:
                result = await connection.execute(text(statement))
                return [tuple(row) for row in result] if result.returns_rows else []
        finally:
            await engine.dispose()

    return asyncio.run(run())
