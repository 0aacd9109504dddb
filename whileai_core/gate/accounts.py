"""Accounts and their credentials, as database operations."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import delete, or_, select
from sqlalchemy.exc import IntegrityError

from whileai_core.errors import InputError
from whileai_core.gate import permits
from whileai_core.gate.database import Database, now_ms
from whileai_core.gate.tables import Account, Credential, Secret

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy.ext.asyncio import AsyncSession

LOCAL_ACCOUNT = "local"
STATIC, DELEGATED, SESSION, BROWSER = "static", "delegated", "session", "browser"
KEYS = (STATIC, DELEGATED)
"""What counts as an account key."""
SESSIONS = (STATIC, SESSION)
"""What counts as a session token, with which delegated credentials are made."""
SIGN_INS = (STATIC, DELEGATED, SESSION)
"""What a person can sign in with, to look at pages."""
BROWSER_SECONDS = 12 * 3600
_SESSION_MS = 30 * 24 * 3600 * 1000
_SIGNING = "signing"
_MAX_NAME = 200


async def ensure_server(database: Database) -> str:
    """Return the server's secret; on the first start make it, with the embedded account."""
    secret = await _read_secret(database)
    if secret is not None:
        return secret
    fresh = secrets.token_hex(32)
    try:
        async with database.write() as session:
            session.add(Secret(name=_SIGNING, value=fresh))
            await session.flush()  # the one who writes the secret also makes the account
            account = await _account_named(session, LOCAL_ACCOUNT)
            _add_key(session, account, permits.Signer(fresh).embedded_key(), "embedded")
    except IntegrityError:  # another process was first
        secret = await _read_secret(database)
        assert secret is not None  # noqa: S101  the row that collided
        return secret
    return fresh


async def find_account(session: AsyncSession, key: str, kinds: Collection[str]) -> str | None:
    """Return the id of the account a credential stands for; None when it is no good.

    Args:
        kinds: What kinds of credential will do.
    """
    found = await _find(session, permits.digest(key), kinds)
    if found is not None and found.kind == BROWSER:
        # Its name is the digest of the credential it was made with, and it ends with that one.
        found = await _find(session, found.name, SIGN_INS)
    return found.account_id if found is not None else None


class _Found(NamedTuple):
    account_id: str
    kind: str
    name: str


async def _find(session: AsyncSession, digest: str, kinds: Collection[str]) -> _Found | None:
    lives = or_(Credential.expires_at.is_(None), Credential.expires_at > now_ms())
    query = select(Credential.account_id, Credential.kind, Credential.name)
    query = query.where(Credential.kind.in_(kinds), Credential.digest == digest, lives)
    row = (await session.execute(query)).first()
    return _Found(*row) if row is not None else None


async def begin_browsing(database: Database, key: str) -> str:
    """Make a token under which pages show the account of a good credential for a while."""
    token = permits.new_key(permits.BROWSER_PREFIX)
    expires_at = now_ms() + BROWSER_SECONDS * 1000
    async with database.write() as session:
        made_with = await session.get_one(Credential, permits.digest(key))
        ended = Credential.kind == BROWSER, Credential.expires_at <= now_ms()
        await session.execute(delete(Credential).where(*ended))
        _add(session, made_with.account_id, token, BROWSER, made_with.digest, expires_at=expires_at)
    return token


async def end_browsing(database: Database, token: str) -> None:
    """Make a token of `begin_browsing` worthless."""
    which = Credential.kind == BROWSER, Credential.digest == permits.digest(token)
    async with database.write() as session:
        await session.execute(delete(Credential).where(*which))


async def create_key(database: Database, name: str) -> str:
    """Make a key for the account `name`, and the account when it is missing.

    Raises:
        InputError: The name is blank or too long.
    """
    key = permits.new_key()
    async with database.write() as session:
        account = await _account_named(session, _checked(name))
        _add_key(session, account, key, "key")
    return key


async def create_session(database: Database, name: str) -> str:
    """Make a session token for the account `name`, and the account when it is missing.

    Raises:
        InputError: The name is blank or too long.
    """
    token = permits.new_key(permits.SESSION_PREFIX)
    async with database.write() as session:
        account = await _account_named(session, _checked(name))
        _add(session, account, token, SESSION, "session", expires_at=now_ms() + _SESSION_MS)
    return token


async def create_account(database: Database, name: str) -> str:
    """Make an account without a key; return its id.

    Raises:
        InputError: The name is blank, too long or taken.
    """
    account = _new_account(_checked(name))
    try:
        async with database.write() as session:
            session.add(account)
    except IntegrityError:
        raise InputError(f"there already is an account named {name.strip()!r}") from None
    return account.id


async def _read_secret(database: Database) -> str | None:
    async with database.read() as session:
        return await session.scalar(select(Secret.value).where(Secret.name == _SIGNING))


async def _account_named(session: AsyncSession, name: str) -> str:
    found = await session.scalar(select(Account.id).where(Account.name == name))
    if found is not None:
        return found
    account = _new_account(name)
    session.add(account)
    await session.flush()
    return account.id


def _new_account(name: str) -> Account:
    return Account(id=f"ac_{secrets.token_hex(8)}", name=name, created_at=now_ms())


def _add_key(session: AsyncSession, account: str, key: str, name: str) -> None:
    _add(session, account, key, STATIC, name)


def _add(
    session: AsyncSession,
    account: str,
    key: str,
    kind: str,
    name: str,
    expires_at: int | None = None,
) -> None:
    session.add(
        Credential(
            digest=permits.digest(key),
            account_id=account,
            kind=kind,
            name=name,
            created_at=now_ms(),
            expires_at=expires_at,
        )
    )


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _MAX_NAME or not name.isprintable():
        raise InputError(f"an account name has 1 to {_MAX_NAME} printable characters")
    return name
