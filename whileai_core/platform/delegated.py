"""Short-lived credentials, issued to someone who is signed in."""

from __future__ import annotations

import uuid
from typing import Any

from whileai_core.platform._connect import connect
from whileai_core.platform._wire import text_field
from whileai_core.platform.credentials import sendable


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
    body = {"name": name, "ttlSeconds": int(ttl_seconds)}
    return await _exchange("issue-credential", clerk_token, body, timeout)


async def refresh_delegated_credential(
    clerk_token: str, credential: str, *, ttl_seconds: float = 3600, timeout: float = 120
) -> dict[str, Any]:
    """Renew a credential before it expires.

    Arguments, result and errors are those of `issue_delegated_credential`; `credential` is the
    one to renew.
    """
    old = sendable(credential or "", source="credential").get_secret_value()
    body = {"credential": old, "ttlSeconds": int(ttl_seconds)}
    return await _exchange("refresh-credential", clerk_token, body, timeout, old)


async def _exchange(
    route: str, clerk_token: str, body: dict[str, Any], timeout: float, *secrets: str
) -> dict[str, Any]:
    token = sendable(clerk_token or "", source="clerk_token").get_secret_value()
    async with connect(key="never", secrets=(token, *secrets)) as platform:
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
