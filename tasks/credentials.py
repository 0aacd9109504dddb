"""Credentials for tasks: they come from blocks, by name, and are never parameters or results.

Prefect shows and stores parameters and results. `WhileCredentials` is what the platform tasks
take by name; delegated credentials made by a task go from Secret block to Secret block.
"""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

from prefect import task
from prefect.blocks.core import Block
from prefect.blocks.system import Secret
from prefect.cache_policies import NO_CACHE
from pydantic import Field, SecretStr, model_validator

import whileai_core as core
from whileai_core.platform import ApiKey, DelegatedCredentials, KeptKey


class WhileCredentials(Block):
    """What the platform is called with: an account key, or a session that makes short-lived ones.

    Make one in the Prefect UI, or in Python, and hand its name to the tasks:

    >>> block = WhileCredentials(api_key="zp_...")
    >>> await block.save("production")  # doctest: +SKIP
    >>> await push_rows(rows, "monday", credentials="production")  # doctest: +SKIP
    """

    _block_type_name: ClassVar[str] = "While Credentials"
    _block_type_slug: ClassVar[str] = "while-credentials"
    _description: ClassVar[str] = "Credentials of the platform that datasets are pushed to."

    api_key: SecretStr | None = Field(default=None, title="Account key")
    session_token: SecretStr | None = Field(
        default=None,
        description="Instead of a key: makes credentials that expire, and renews them in time.",
    )
    ttl_seconds: int = Field(default=3600, ge=1, description="Life of such a credential.")
    api_url: str | None = Field(
        default=None,
        title="Platform address",
        description="The one platform this is for. Empty: whichever WHILEAI_API_URL names.",
    )

    @model_validator(mode="after")
    def _has_one_secret(self) -> WhileCredentials:
        if (self.api_key is None) == (self.session_token is None):
            raise ValueError("give either an account key or a session token")
        return self

    def get_credential(self) -> ApiKey:
        """Return what the operations of `whileai_core` take as `api_key=`.

        Equal blocks give the same renewing credential within an event loop, so that tasks side
        by side do not each make their own.
        """
        if self.session_token is None:
            assert self.api_key is not None  # noqa: S101  checked above
            return KeptKey(self.api_key, self.api_url or None)
        token = self.session_token.get_secret_value()
        kept = _renewing.setdefault(asyncio.get_running_loop(), {})
        key = (token, self.ttl_seconds, self.api_url or None)
        if key not in kept:
            kept[key] = DelegatedCredentials(
                _always(token),
                ttl_seconds=self.ttl_seconds,
                name="prefect",
                api_url=self.api_url or None,
            )
        return kept[key]


_renewing: WeakKeyDictionary[Any, dict[Any, DelegatedCredentials]] = WeakKeyDictionary()


def _always(token: str) -> Any:
    async def session_token() -> str:
        return token

    return session_token


async def credential_in(block: str | None) -> ApiKey:
    """Return the credential of a `WhileCredentials` block; None leaves it to the settings."""
    if block is None:
        return None
    loaded: Any = await WhileCredentials.aload(block)
    credential: ApiKey = loaded.get_credential()
    return credential


async def secret_in(block: str | None) -> str | None:
    """Return what a Secret block holds, a chat endpoint's key for one; None is none."""
    return None if block is None else await _secret(block)


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
