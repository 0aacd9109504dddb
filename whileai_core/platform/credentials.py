"""Which credential a call uses, and the file that keeps one between runs.

Order: argument, `WHILEAI_DELEGATED_CREDENTIAL`, `WHILEAI_API_KEY`, `<home>/credentials.json`.
An earlier source that turns out to be bad is not skipped.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from pydantic import SecretStr

from whileai_core import jsonio
from whileai_core.atomic import write_atomic
from whileai_core.errors import NotAuthenticated

if TYPE_CHECKING:
    from pathlib import Path

    from whileai_core.settings import Settings

CREDENTIALS_FILE = "credentials.json"


class CredentialSource(Protocol):
    """Something that has a good credential whenever one is needed."""

    @property
    def api_url(self) -> str | None:
        """The one platform it is for; None means whichever the settings name."""

    async def current(self) -> str:
        """Return a credential that is good now."""


ApiKey: TypeAlias = str | CredentialSource | None
"""What `api_key=` takes: a key, something that has one, or nothing (then the settings count)."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential, where it came from, and the one address it may be sent to (if bound).

    Attributes:
        secret: The credential itself, or what has it when it is needed.
    """

    secret: SecretStr | CredentialSource
    source: str
    api_url: str | None = None
    stored: bool = False

    async def current(self) -> str:
        """Return what is sent.

        Raises:
            PlatformError: A source has none, or one that cannot be sent.
        """
        if isinstance(self.secret, SecretStr):
            return self.secret.get_secret_value()
        return sendable(await self.secret.current(), source=self.source).get_secret_value()


@dataclass(frozen=True, slots=True)
class KeptKey:
    """A key that is used with its own platform only."""

    key: SecretStr
    api_url: str | None = None

    async def current(self) -> str:
        """Return the key."""
        return self.key.get_secret_value()


def sendable(secret: str, *, source: str) -> SecretStr:
    """Check that a credential can travel in a header, without ever showing it.

    Raises:
        NotAuthenticated: It is blank or holds characters a header cannot carry.
    """
    stripped = secret.strip()
    if not stripped:
        raise NotAuthenticated(f"the credential from {source} is blank; set it or leave it out")
    if not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise NotAuthenticated(
            f"the credential from {source} holds characters that cannot be sent in a header "
            "(line breaks, spaces or non-ASCII); copy it again"
        )
    return SecretStr(stripped)


def find_credential(settings: Settings, api_key: ApiKey) -> Credential | None:
    """Return the first credential in the documented order, or None.

    Raises:
        NotAuthenticated: The first one found cannot be sent.
    """
    if api_key and isinstance(api_key, str):
        return Credential(sendable(api_key, source="api_key="), "api_key=")
    if api_key:
        bound = api_key.api_url is not None
        return Credential(api_key, "api_key=", api_key.api_url, stored=bound)
    for source, value in (
        ("WHILEAI_DELEGATED_CREDENTIAL", settings.delegated_credential),
        ("WHILEAI_API_KEY", settings.api_key),
    ):
        if value is not None and value.get_secret_value():
            return Credential(sendable(value.get_secret_value(), source=source), source)
    return _stored_credential(settings.home / CREDENTIALS_FILE)


def _stored_credential(path: Path) -> Credential | None:
    record = _read_record(path)
    key, api_url = record.get("api_key"), record.get("api_url")
    if not isinstance(key, str) or not key:
        return None
    bound_to = api_url if isinstance(api_url, str) and api_url else None
    return Credential(sendable(key, source=str(path)), str(path), bound_to, stored=True)


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = jsonio.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def store_credential(home: Path, api_key: str, *, api_url: str) -> Path:
    """Keep a key for later runs, bound to the platform it belongs to; return the file.

    The file is readable by its owner only from its first byte on. Other fields of an existing
    file are kept.

    Raises:
        NotAuthenticated: The key cannot be sent as it is.
        StoreError: The file cannot be written.
    """
    path = home / CREDENTIALS_FILE
    record = _read_record(path) | {
        "api_key": sendable(api_key, source="the key to store").get_secret_value(),
        "api_url": api_url.rstrip("/"),
        "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    write_atomic(path, jsonio.dumps(record), mode=0o600)
    return path
