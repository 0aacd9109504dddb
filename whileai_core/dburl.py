"""Database URLs as people write them: checked without ever repeating the password in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.errors import SettingsError

if TYPE_CHECKING:
    from sqlalchemy import URL


def parse_database_url(text: str, *, setting: str) -> URL:
    """Parse a SQLAlchemy URL.

    A password that is not written as it must be in a URL ends up in host or port, and from there
    in the words of drivers; such a URL is refused before anybody sees it.

    Args:
        text: The URL.
        setting: Where it comes from, for the message.

    Raises:
        SettingsError: It is no database URL.
    """
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        url = None
    if url is None or "@" in (url.host or ""):
        raise SettingsError(
            f"{setting} is not a database URL; write it as sqlite:////folder/name.db or "
            "postgresql://user:password@host/database, with @ : / in a password as %40 %3A %2F"
        )
    return url
