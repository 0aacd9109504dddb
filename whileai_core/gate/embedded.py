"""The gate inside this process: no port, no configuration, the account `local`."""

from __future__ import annotations

import contextlib
import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from whileai_core.gate.app import create_app
from whileai_core.gate.settings import GateSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp

    from whileai_core.settings import Settings

ORIGIN = "http://gate.embedded"


@dataclass(frozen=True)
class EmbeddedGate:
    """An open gate to be called through ASGI.

    Attributes:
        app: The application, its lifespan already started.
        origin: Base URL to send requests to.
        api_key: Key of the account `local`.
    """

    app: ASGIApp
    origin: str
    api_key: str = field(repr=False)


@contextlib.asynccontextmanager
async def embedded_gate(settings: Settings | None = None) -> AsyncIterator[EmbeddedGate]:
    """Open the gate of the home folder for the running event loop.

    Cheap enough to open for every operation; any number may be open at once, in several loops
    and processes.

    Args:
        settings: The product's settings; by default those of the environment.

    Raises:
        StoreError: The folder or database cannot be used.
    """
    # Nobody has to be slowed down in one's own process.
    chosen = dataclasses.replace(GateSettings.from_settings(settings), key_rate=0)
    app = create_app(chosen, works=False)
    async with app.router.lifespan_context(app):
        yield EmbeddedGate(app, ORIGIN, app.state.gate.signer.embedded_key())
