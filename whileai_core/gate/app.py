"""The gate as an ASGI application."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware

from whileai_core.gate import background, housekeeping, hubjobs, jobs
from whileai_core.gate.hangup import HangUp
from whileai_core.gate.http import error_response
from whileai_core.gate.metrics import Metrics
from whileai_core.gate.middleware import RequestLog
from whileai_core.gate.routes import (
    adapters,
    agents,
    catalog,
    checks,
    credentials,
    datasets,
    health,
    hub,
    otlp,
    pages,
    profiles,
    runs,
    traces,
    transfers,
)
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate
from whileai_core.gate.unread import DropUnread
from whileai_core.gate.workers import HANDLERS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request
    from starlette.responses import Response

# The hub comes first: `/datasets/import-hf` must win over `/datasets/{id}`.
_SUBJECTS = (
    health,
    hub,
    datasets,
    transfers,
    profiles,
    catalog,
    checks,
    agents,
    traces,
    otlp,
    runs,
    adapters,
    credentials,
    pages,
)


def create_app(settings: GateSettings | None = None, *, works: bool = True) -> Starlette:
    """Return the gate's application; nothing is opened before its lifespan starts.

    Args:
        settings: The gate's settings; by default those of the environment.
        works: Look for background jobs as long as it runs, not only when it starts.
    """
    chosen = settings or GateSettings.from_settings()

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_gate(chosen) as gate:
            app.state.gate = gate
            if works:
                async with (
                    housekeeping.at_work(gate),
                    jobs.at_work(gate, HANDLERS),
                    hubjobs.at_work(gate),
                ):
                    yield
            else:  # what an earlier process left; a short-lived one has no time for a loop
                await jobs.run_due(gate, HANDLERS)
                if await jobs.any_free(gate, hubjobs.HANDLERS):
                    app.state.on_hub_job()
                yield

    metrics = Metrics()
    app = Starlette(
        routes=[route for subject in _SUBJECTS for route in subject.routes],
        middleware=[
            Middleware(HangUp),
            Middleware(DropUnread),
            Middleware(RequestLog, metrics=metrics),
        ],
        exception_handlers={HTTPException: _refused},
        lifespan=lifespan,
    )
    app.state.metrics = metrics
    # A served gate looks for such jobs all the time.
    app.state.on_hub_job = (lambda: None) if works else (lambda: background.work_soon(chosen))
    app.router.redirect_slashes = False  # clients of the protocol take no redirect
    return app


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101  what it is registered for
    return error_response(error.status_code, error.detail, error.headers)
