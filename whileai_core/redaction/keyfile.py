"""The key file: born once, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from pathlib import Path

_KEY_BYTES = 32


def read_or_create(path: Path) -> bytes:
    """Return the key in a file, and make file and key when there is none.

    Several processes may start at once: the key is written beside and linked into place, so all
    of them end with the one that came first.

    Raises:
        StoreError: The file cannot be read or written, or holds no key.
    """
    try:
        if not path.exists():
            _create(path)
        text = path.read_text("ascii").strip()
        key = bytes.fromhex(text)
    except OSError as error:
        raise StoreError(f"cannot use the redaction key {path}: {error.strerror}") from error
    except ValueError:
        key = b""
    if len(key) < _KEY_BYTES:
        raise StoreError(
            f"{path} holds no redaction key ({_KEY_BYTES} bytes in hex); restore it from a backup, "
            "or remove it to start with a new key: stand-ins will then differ from earlier ones"
        )
    return key


def _create(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_hex(_KEY_BYTES) + "\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(beside, path)
    finally:
        beside.unlink()
