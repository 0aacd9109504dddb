"""Delegated credentials as tasks: secrets come from Secret blocks and go back to them.

Neither parameters nor results hold a secret, since Prefect shows and stores both.
"""

from __future__ import annotations

from typing import Any

from prefect import task
from prefect.blocks.system import Secret
from prefect.cache_policies import NO_CACHE

import whileai_core as core


@task(cache_policy=NO_CACHE, persist_result=False)
async def issue_delegated_credential(
    token_block: str,
    credential_block: str,
    ttl_seconds: int = 3600,
    name: str = "sdk-default",
    timeout: float = 120,
) -> dict[str, Any]:
    """Get a short-lived credential and keep it in a Secret block.

    Args:
        token_block: Name of the Secret block with the session token.
        credential_block: Name of the Secret block to keep the credential in; replaced if there.
        ttl_seconds: Life of the credential.
        name: Label of the credential on the platform.
        timeout: Seconds the call may take.

    Returns:
        The platform's reply without the credential.
    """
    token = await _secret(token_block)
    reply = await core.issue_delegated_credential(
        token, ttl_seconds=ttl_seconds, name=name, timeout=timeout
    )
    return await _kept(reply, credential_block)


@task(cache_policy=NO_CACHE, persist_result=False)
async def refresh_delegated_credential(
    token_block: str, credential_block: str, ttl_seconds: int = 3600, timeout: float = 120
) -> dict[str, Any]:
    """Renew the credential in a Secret block before it expires; see the task that issues it."""
    reply = await core.refresh_delegated_credential(
        await _secret(token_block),
        await _secret(credential_block),
        ttl_seconds=ttl_seconds,
        timeout=timeout,
    )
    return await _kept(reply, credential_block)


async def _secret(block: str) -> str:
    loaded: Any = await Secret.aload(block)
    return str(loaded.get())


async def _kept(reply: dict[str, Any], block: str) -> dict[str, Any]:
    await Secret(value=reply["credential"]).save(block, overwrite=True)
    return {key: value for key, value in reply.items() if key != "credential"}
