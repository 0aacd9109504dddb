"""Short-lived credentials, issued to someone who is signed in."""

from __future__ import annotations

import time
import uuid
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import SecretStr

from whileai_core.platform._call import REQUEST_SECONDS
from whileai_core.platform._connect import connect
from whileai_core.platform._wire import text_field
from whileai_core.platform.credentials import sendable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from whileai_core.platform.credentials import CredentialSource

_RENEWED_AFTER = 0.8  # of a credential's life


async def issue_delegated_credential(
    clerk_token: str, *, ttl_seconds: float = 3600, name: str = "sdk-default", timeout: float = 120
) -> dict[str, Any]:
    """Exchange a session token for a credential that expires by itself.

    Args:
        clerk_token: Token of the signed-in session; sent as a bearer token, never with a key.
        ttl_seconds: Life of the credential; fractions are dropped.
        name: Label of the credential.
        timeout: Seconds the call may take.

    Returns:
        `credential` and what the platform says about it; it is not stored anywhere.

    Raises:
        NotAuthenticated: The token is blank, cannot be sent, or is not accepted.
        PlatformError: The platform could not be asked.
    """
    return await _issue(clerk_token, ttl_seconds, name, timeout)


async def refresh_delegated_credential(
    clerk_token: str, credential: str, *, ttl_seconds: float = 3600, timeout: float = 120
) -> dict[str, Any]:
    """Renew a credential before it expires.

    Arguments, result and errors are those of `issue_delegated_credential`; `credential` is the
    one to renew.
    """
    return await _refresh(clerk_token, credential, ttl_seconds, timeout)


class DelegatedCredentials:
    """Keeps one short-lived credential fresh for a long-running program.

    >>> credentials = DelegatedCredentials(read_session_token)  # doctest: +SKIP
    >>> await push_rows(rows, "set", api_key=credentials)  # doctest: +SKIP

    Every request asks for it. It is renewed when four fifths of its life are over, once however
    many ask at that moment, and kept in memory only.

    Attributes:
        api_url: The platform it is for; None means whichever the settings name.
    """

    def __init__(
        self,
        session_token: Callable[[], Awaitable[str]],
        *,
        ttl_seconds: float = 3600,
        name: str = "sdk-default",
        api_url: str | None = None,
    ) -> None:
        """Take what reads the current session token, and the wanted life, label and platform."""
        self.api_url = api_url
        self._session_token = session_token
        self._ttl_seconds = ttl_seconds
        self._name = name
        self._renewing = anyio.Lock()
        self._credential: SecretStr | None = None
        self._good_until = 0.0

    async def current(self) -> str:
        """Return a credential with life left, issuing or renewing it where needed.

        Raises:
            PlatformError: It could not be issued or renewed.
        """
        async with self._renewing:
            credential = self._credential
            if credential is None or time.monotonic() >= self._good_until:
                credential = await self._renew()
            return credential.get_secret_value()

    async def _renew(self) -> SecretStr:
        token, ttl = await self._session_token(), self._ttl_seconds
        asked_at = time.monotonic()
        if self._credential is None:
            reply = await _issue(token, ttl, self._name, REQUEST_SECONDS, self)
        else:
            old = self._credential.get_secret_value()
            reply = await _refresh(token, old, ttl, REQUEST_SECONDS, self)
        life = reply.get("ttlSeconds")
        self._good_until = asked_at + _RENEWED_AFTER * (life if isinstance(life, int) else ttl)
        self._credential = SecretStr(reply["credential"])
        return self._credential


async def _issue(
    clerk_token: str,
    ttl_seconds: float,
    name: str,
    timeout: float,
    source: CredentialSource | None = None,
) -> dict[str, Any]:
    body = {"name": name, "ttlSeconds": int(ttl_seconds)}
    return await _exchange("issue-credential", clerk_token, body, timeout, source)


async def _refresh(
    clerk_token: str,
    credential: str,
    ttl_seconds: float,
    timeout: float,
    source: CredentialSource | None = None,
) -> dict[str, Any]:
    old = sendable(credential or "", source="credential").get_secret_value()
    body = {"credential": old, "ttlSeconds": int(ttl_seconds)}
    return await _exchange("refresh-credential", clerk_token, body, timeout, source, old)


async def _exchange(
    route: str,
    clerk_token: str,
    body: dict[str, Any],
    timeout: float,
    source: CredentialSource | None,
    *secrets: str,
) -> dict[str, Any]:
    token = sendable(clerk_token or "", source="clerk_token").get_secret_value()
    # The source says which platform is meant; what it has is not sent.
    async with connect(source, key="never", secrets=(token, *secrets)) as platform:
        reply = await platform.post(
            "auth",
            route,
            body=body,
            bearer=token,
            replayable=False,
            idempotency_key=str(uuid.uuid4()),
            seconds=timeout,
        )
    text_field(reply, "credential", call=f"POST /auth/{route}")
    return reply
