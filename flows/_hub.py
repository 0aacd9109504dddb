"""A Hugging Face token out of a Secret block, for the gate in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from prefect.blocks.system import Secret

from whileai_core.hub.account import handed_over


@asynccontextmanager
async def hub_token(block: str | None) -> AsyncIterator[None]:
    """Use the token of a Secret block for as long as the flow waits; without a block, nothing."""
    if block is None:
        yield
        return
    secret: Any = await Secret.aload(block)
    with handed_over(str(secret.get())):
        yield
