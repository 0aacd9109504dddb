"""Files that appear whole or not at all, and the sweep that removes what a kill left behind.

A temporary file stands beside its target and carries host and process id in its name, so that
a later run can tell an abandoned one from one that is being written.
"""

from __future__ import annotations

import os
import re
import socket
import time
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, BinaryIO

from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:32]
_OLD_SECONDS = 24 * 3600
_OWNER = re.compile(r"(?P<host>[A-Za-z0-9-]*)\.(?P<pid>\d+)\.[0-9a-f]{8}$")


def owner_tag() -> str:
    """Return a fresh name part that tells which process of which host made a file or folder."""
    return f"{_HOST}.{os.getpid()}.{uuid.uuid4().hex[:8]}"


def owner_is_gone(tagged: str) -> bool:
    """Say whether a name ending in an `owner_tag` was made on this host by a dead process."""
    match = _OWNER.search(tagged)
    return bool(match and match["host"] == _HOST and not _alive(int(match["pid"])))


def temporary_beside(path: Path) -> Path:
    """Return a fresh temporary name in the folder of `path`."""
    return path.with_name(f".{path.name}.{owner_tag()}.tmp")


@contextmanager
def atomic_file(path: Path, *, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a file that replaces `path` only when the block ends well.

    Readers see the old file or the new one. The bytes are flushed to disk before the rename. A
    link is followed, and what is no regular file (`/dev/null`, a pipe) is written as it is:
    there is nothing to replace.

    Raises:
        StoreError: The disk is full or the folder cannot be written; nothing is left behind.
    """
    path = path.resolve()
    temporary = temporary_beside(path)
    try:
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        if isinstance(error, StoreError):
            raise
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; free space or fix permissions "
            "and run again, nothing half-written was kept"
        ) from error
    finally:
        with suppress(OSError):  # the folder itself may be what is broken
            temporary.unlink(missing_ok=True)


def write_atomic(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Write a small file whole or not at all (see `atomic_file`)."""
    with atomic_file(path, mode=mode) as file:
        file.write(data)


def sweep_temporaries(folder: Path) -> int:
    """Remove temporary files below `folder` whose process is gone; count them.

    Of a process on another host that shares the folder we know nothing, but nothing is written
    for a day.
    """
    removed = 0
    for path in folder.rglob(".*.tmp") if folder.is_dir() else ():
        tagged = path.name.removesuffix(".tmp")
        if owner_is_gone(tagged) or (_is_foreign(tagged) and _is_old(path)):
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _is_foreign(tagged: str) -> bool:
    match = _OWNER.search(tagged)
    return bool(match and match["host"] != _HOST)


def _is_old(path: Path) -> bool:
    with suppress(FileNotFoundError):  # finished while we looked
        return time.time() - path.stat().st_mtime > _OLD_SECONDS
    return False


def sweep_beside(path: Path) -> None:
    """Remove what dead processes of this host have left of writing `path`."""
    with suppress(OSError):
        for other in path.parent.iterdir():
            name = other.name
            if name.startswith(f".{path.name}.") and owner_is_gone(name.removesuffix(".tmp")):
                other.unlink(missing_ok=True)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
