"""Defaults for Prefect, set before it is imported; whatever the user has set stays."""

from __future__ import annotations

import os
from pathlib import Path

from whileai_core.errors import StoreError
from whileai_core.settings import get_settings

_DEFAULTS = {
    # A private machine has nobody to report to, and the heartbeat of the telemetry collides
    # with SQLite at start and prints a harmless, frightening traceback.
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
    # A server that is killed forgets who holds a deployment's slot unless it is written down;
    # a long night would then be ended at its next sign of life.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": (
        "prefect.server.concurrency.lease_storage.filesystem"
    ),
    "PREFECT_LOGGING_EXTRA_LOGGERS": "whileai_core",
    # Our lines from outside a run, later in the same process, belong to no run.
    "PREFECT_LOGGING_TO_API_WHEN_MISSING_FLOW": "ignore",
    # At a prompt our own lines tell what happens, and an error is one line; the server gets
    # Prefect's whole log. A worker has its console set up before it loads a flow.
    "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
}
_CHOSEN = ("PREFECT_HOME", "PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH")


def apply() -> None:
    """Keep Prefect's own data under our home folder unless the user runs Prefect already."""
    for name, value in _DEFAULTS.items():
        os.environ.setdefault(name, value)
    has_prefect = (Path.home() / ".prefect" / "profiles.toml").exists()
    if not has_prefect and not any(os.environ.get(name) for name in _CHOSEN):
        os.environ["PREFECT_HOME"] = str(own_home())


def own_home() -> Path:
    """Make the folder under our home that Prefect's data are kept in, and return it.

    Raises:
        StoreError: It cannot be made.
    """
    home = get_settings().home.absolute() / "prefect"
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreError(
            f"cannot make {home}: {error.strerror}; set WHILEAI_HOME to a folder to write in"
        ) from error
    return home
