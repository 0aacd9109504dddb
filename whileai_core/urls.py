"""Addresses that end up in results, logs and databases: none of them may hold a secret."""

from __future__ import annotations

import re
from collections.abc import Iterable

from whileai_core.errors import InputError

# A password, also one that was not written as it must be in a URL; `host:port/` is none.
_PASSWORD = re.compile(r"://[^/?#]*:(?!\d+/)[^?#]*@")
_SIGNED = re.compile(
    r"[?&][^=&#]*(?:signature|\bsig|token|secret|passw|api.?key|credential)[^=&#]*=", re.IGNORECASE
)
_COLON_IS_NO_PASSWORD = re.compile(r"(?:^|::)(?:git|github)://")


def has_secret(url: str) -> bool:
    """Tell whether an fsspec URL, also a chained one, holds a password or a signature."""
    if "://" not in url:
        return False
    password = _PASSWORD.search(url) and not _COLON_IS_NO_PASSWORD.search(url)
    return bool(password or _SIGNED.search(url))


def check_paths(paths: Iterable[str]) -> None:
    """Refuse traces whose address would show a secret to everybody who sees the run.

    Raises:
        InputError: A path holds a password or a signature; it is not repeated.
    """
    for path in paths:
        if has_secret(path):
            raise InputError(
                f"the address of the traces at {path.partition('://')[0]}://… holds a password or "
                "a signature, and addresses are kept with runs and datasets; give what opens them "
                "by the environment (AWS_*, FSSPEC_*, …), or download the traces first"
            )
