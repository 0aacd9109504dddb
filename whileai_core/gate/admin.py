"""What the operator of a gate does without HTTP: accounts, keys, session tokens."""

from __future__ import annotations

from whileai_core.gate import accounts
from whileai_core.gate.settings import GateSettings
from whileai_core.gate.state import open_gate


async def create_key(name: str, *, settings: GateSettings | None = None) -> str:
    """Return a new key for the account `name`, which is made when missing.

    The key is shown this once; the gate keeps only its hash. The account `local` is the one
    in-process runs use.

    Raises:
        InputError: The name is blank or too long.
        StoreError: The gate cannot be opened.
    """
    async with open_gate(settings or GateSettings.from_settings()) as gate:
        return await accounts.create_key(gate.database, name)


async def create_session(name: str, *, settings: GateSettings | None = None) -> str:
    """Return a new session token for the account `name`, which is made when missing.

    It makes, refreshes and revokes delegated credentials for 30 days and is no key by itself.
    It is shown this once; the gate keeps only its hash.

    Raises:
        InputError: The name is blank or too long.
        StoreError: The gate cannot be opened.
    """
    async with open_gate(settings or GateSettings.from_settings()) as gate:
        return await accounts.create_session(gate.database, name)


async def create_account(name: str, *, settings: GateSettings | None = None) -> str:
    """Make an account without a key; return its id.

    Raises:
        InputError: The name is blank, too long or taken.
        StoreError: The gate cannot be opened.
    """
    async with open_gate(settings or GateSettings.from_settings()) as gate:
        return await accounts.create_account(gate.database, name)
