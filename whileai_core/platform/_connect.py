"""A transport for one operation: opened when it starts, closed with it."""

from __future__ import annotations

import functools
import logging
import re
import ssl
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import httpx
from pydantic import SecretStr

from whileai_core.errors import NotAuthenticated, PlatformError
from whileai_core.platform._asgi import SpooledASGITransport
from whileai_core.platform._call import REQUEST_SECONDS
from whileai_core.platform._target import choose_target, is_loopback
from whileai_core.platform.credentials import Credential
from whileai_core.platform.transport import Transport
from whileai_core.settings import Settings, get_settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from whileai_core.platform.credentials import ApiKey

CONNECTIONS = 16
_CONNECT_SECONDS = 15.0

log = logging.getLogger("whileai_core")


@asynccontextmanager
async def connect(
    api_key: ApiKey = None,
    *,
    key: Literal["required", "optional", "never"] = "required",
    secrets: tuple[str, ...] = (),
) -> AsyncIterator[Transport]:
    """Open a transport to wherever the settings point.

    Args:
        api_key: Credential given by the caller, or something that has one.
        key: Whether the operation is refused without a credential, or must not carry one.
        secrets: Further texts that must never be shown.

    Raises:
        NotAuthenticated: A platform is configured but no usable credential is.
        SettingsError: The configured address cannot be used.
    """
    settings = get_settings()
    target = choose_target(settings, api_key, use_key=key != "never")
    if target.base_url is None:
        async with _embedded(settings) as transport:
            yield transport
        return
    if key == "required" and target.credential is None:
        raise NotAuthenticated(
            f"no credential for {urlsplit(target.base_url).hostname}: pass api_key=, or set "
            "WHILEAI_API_KEY; without WHILEAI_API_URL and credential the embedded gate is used"
        )
    credential = target.credential if key != "never" else None
    async with connect_to(
        target.base_url, credential, settings=settings, secrets=secrets
    ) as transport:
        yield transport


@asynccontextmanager
async def connect_to(
    base_url: str,
    credential: Credential | None = None,
    *,
    settings: Settings,
    secrets: tuple[str, ...] = (),
    connections: int = CONNECTIONS,
    seconds: float = REQUEST_SECONDS,
) -> AsyncIterator[Transport]:
    """Open a transport to one address.

    Args:
        base_url: Where to.
        credential: Sent with every call that needs a key.
        settings: Whether plain http may leave this machine.
        secrets: Further texts that must never be shown.
        connections: Connections at most.
        seconds: Longest silence in an answer.
    """
    client = httpx.AsyncClient(
        verify=_tls(),
        timeout=httpx.Timeout(seconds, connect=_CONNECT_SECONDS, pool=None),
        limits=httpx.Limits(max_connections=connections, max_keepalive_connections=connections),
        follow_redirects=False,
        # A proxy has no business on this machine.
        trust_env=not is_loopback(urlsplit(base_url).hostname),
    )
    async with client:
        yield Transport(
            client,
            base_url,
            credential=credential,
            allow_insecure=settings.allow_insecure,
            secrets=secrets,
        )


@asynccontextmanager
async def _embedded(settings: Settings) -> AsyncIterator[Transport]:
    from whileai_core.gate.embedded import embedded_gate

    _say_embedded(
        "the database of WHILEAI_GATE_DATABASE_URL"  # which may hold a password
        if settings.gate_database_url
        else str(settings.gate_folder)
    )
    async with (
        embedded_gate(settings) as gate,
        httpx.AsyncClient(transport=SpooledASGITransport(gate.app), trust_env=False) as client,
    ):
        key = Credential(SecretStr(gate.api_key), "the embedded gate")
        try:
            yield Transport(client, gate.origin, credential=key, embedded=True)
        except PlatformError as error:
            # Nobody can look at an address that is in here only.
            error.args = (_without_origin(str(error), gate.origin, settings.home),)
            raise


def _without_origin(message: str, origin: str, home: Path) -> str:
    where = f" of the local gate ({home})"
    address = re.compile(rf"{re.escape(origin)}(/[^\s,;]*)")
    return address.sub(lambda match: match[1] + where, message)


@functools.cache
def _say_embedded(where: str) -> None:
    log.warning(
        "no platform is configured: datasets go to the embedded gate in %s; set WHILEAI_API_URL "
        "and WHILEAI_API_KEY for a platform elsewhere",
        where,
    )


@functools.cache
def _tls() -> ssl.SSLContext:
    return httpx.create_ssl_context()
