"""What several machines must share before they work on the nights of one agent.

A plain path means this machine's own file. A URL means the same file from everywhere, a
`file://` URL included: that is how to name a folder that is mounted on every machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whileai_core.dburl import parse_database_url
from whileai_core.errors import SettingsError

if TYPE_CHECKING:
    from whileai_core.ingest.ledger import Ledger
    from whileai_core.settings import Settings

_POSTGRES_PORT = 5432


def is_shared(place: str) -> bool:
    """Say whether other machines reach a file or folder of that name."""
    return "://" in place and not place.startswith("memory://")


def check_sharing(settings: Settings, ledger: Ledger, *, hosted: bool = False) -> None:
    """Refuse settings by which machines would share one half of their work and not the other.

    Args:
        settings: This machine's.
        ledger: The ledger they name.
        hosted: Whether a credential from elsewhere leads to a platform that is shared anyway.

    Raises:
        SettingsError: Shards or nights can be another machine's, but the store is this one's; or
            the ledger is shared and the embedded gate is not.
    """
    if settings.dask_scheduler:
        _check_store(settings, "WHILEAI_DASK_SCHEDULER has other machines make the shards")
    if ledger.on_server:
        _check_store(settings, "WHILEAI_LEDGER_URL shares the nights with other machines")
        if not hosted:
            _check_platform(settings)


def _check_store(settings: Settings, because: str) -> None:
    if not is_shared(settings.store):
        raise SettingsError(
            f"{because}, but the store {settings.store} is this machine's alone; set "
            "WHILEAI_STORE_URL to a URL that all of them reach: s3://bucket/folder, or "
            "file:///folder for one that is mounted everywhere"
        )


def _check_platform(settings: Settings) -> None:
    from whileai_core.platform._target import choose_target

    if choose_target(settings, None).base_url is not None:
        return
    if settings.gate_database_url and _same_database(settings):
        raise SettingsError(
            "WHILEAI_LEDGER_URL and WHILEAI_GATE_DATABASE_URL name the same database, and both "
            "have a table `spans`; make one for each (CREATE DATABASE ledger; CREATE DATABASE gate)"
        )
    if not (settings.gate_database_url and settings.gate_blob_url):
        raise SettingsError(
            "WHILEAI_LEDGER_URL shares the nights with other machines, but datasets go to the "
            "embedded gate of this one; set WHILEAI_API_URL and WHILEAI_API_KEY for a gate that "
            "is served, or WHILEAI_GATE_DATABASE_URL and WHILEAI_GATE_BLOB_URL"
        )


def _same_database(settings: Settings) -> bool:
    urls = [
        parse_database_url(text or "", setting=f"WHILEAI_{name}")
        for text, name in (
            (settings.ledger_url, "LEDGER_URL"),
            (settings.gate_database_url, "GATE_DATABASE_URL"),
        )
    ]
    ledger, gate = ((url.host, url.port or _POSTGRES_PORT, url.database) for url in urls)
    return ledger == gate
