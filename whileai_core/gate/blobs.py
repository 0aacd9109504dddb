"""The blob store: immutable byte strings under keys, in a folder or behind an fsspec URL.

Everything here blocks; call it in a worker thread. A blob appears under its key whole or not
at all. Keys are made by `new_key` and never reused.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, cast

try:
    import fcntl
except ImportError:  # Windows does not let an open file be deleted, which serves as well
    fcntl = None  # type: ignore[assignment]  # typeshed has no None module

from whileai_core.blobs import OBJECT_STORES
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from whileai_core.gate.settings import GateSettings


def new_key() -> str:
    """Return a key that no blob had before."""
    return secrets.token_hex(16)


class BlobWriter(Protocol):
    """A blob being written; nobody sees it before `commit`."""

    def write(self, data: bytes) -> None:
        """Append bytes."""

    def commit(self) -> None:
        """Make the blob durable and visible under its key."""

    def abort(self) -> None:
        """Forget what was written; does nothing after `commit`."""


class BlobStore(Protocol):
    """Where blobs live."""

    def writer(self, key: str) -> BlobWriter:
        """Begin a new blob."""

    def open(self, key: str) -> BinaryIO:
        """Open a blob for reading.

        Raises:
            FileNotFoundError: There is no such blob.
        """

    def delete(self, key: str) -> None:
        """Delete a blob; a missing one is fine."""

    def sweep(self) -> None:
        """Remove what writers that died left behind; living ones are not disturbed."""


def open_blobs(settings: GateSettings) -> BlobStore:
    """Return the store the settings name."""
    location = settings.blob_url or str(settings.folder / "blobs")
    if "://" not in location:
        return LocalBlobs(Path(location))
    if location.startswith("file://"):
        return LocalBlobs(Path(location.removeprefix("file://")))
    return RemoteBlobs(location)


class LocalBlobs:
    """Blobs as files of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._unfinished = folder / "tmp"
        self._unfinished.mkdir(mode=0o700, parents=True, exist_ok=True)

    def writer(self, key: str) -> BlobWriter:
        """Begin a new blob in a temporary file of the same folder."""
        return _LocalWriter(self._unfinished / key, self._path(key))

    def open(self, key: str) -> BinaryIO:
        """Open a blob for reading."""
        return self._path(key).open("rb")

    def delete(self, key: str) -> None:
        """Delete a blob; a missing one is fine."""
        self._path(key).unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove temporary files whose writer is gone."""
        for path in self._unfinished.iterdir():
            with contextlib.suppress(OSError), path.open("rb") as file:
                _lock(file, wait=False)  # fails while the writer lives, in whatever process
                path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key  # a folder with millions of entries is slow


class _LocalWriter:
    def __init__(self, unfinished: Path, final: Path) -> None:
        self._unfinished = unfinished
        self._final = final
        self._file = _create_locked(unfinished)

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def commit(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._final.parent.mkdir(mode=0o700, exist_ok=True)
        self._unfinished.replace(self._final)
        self._file.close()
        _sync_folder(self._final.parent)

    def abort(self) -> None:
        self._file.close()
        self._unfinished.unlink(missing_ok=True)


def _create_locked(path: Path) -> BinaryIO:
    """Create a file that no sweep removes while it is open."""
    while True:
        file = path.open("xb")
        with contextlib.suppress(OSError):  # a file system without locks: sweeps do nothing there
            _lock(file, wait=True)
        if path.exists():
            return file
        file.close()  # a sweep was quicker than our lock


def _lock(file: BinaryIO, *, wait: bool) -> None:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class RemoteBlobs:
    """Blobs behind any fsspec URL; stores there publish an object whole when it is closed."""

    def __init__(self, url: str) -> None:
        import fsspec

        try:
            self._fs, self._root = fsspec.core.url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise StoreError(f"WHILEAI_GATE_BLOB_URL cannot be used: {error}") from error
        # There is no folder to make, and a bucket of a mistyped name must not be made.
        self._flat = url.partition("://")[0] in OBJECT_STORES

    def writer(self, key: str) -> BlobWriter:
        """Begin a new object."""
        path = self._path(key)
        if not self._flat:
            self._fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        return _RemoteWriter(self._fs.open(path, "wb", autocommit=False))

    def open(self, key: str) -> BinaryIO:
        """Open an object for reading."""
        return cast("BinaryIO", self._fs.open(self._path(key), "rb"))

    def delete(self, key: str) -> None:
        """Delete an object; a missing one is fine."""
        with contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(key))

    def sweep(self) -> None:
        """Do nothing: the store itself drops uploads that were never completed."""

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"


class _RemoteWriter:
    def __init__(self, file: Any) -> None:
        self._file = file
        self._committed = False

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def commit(self) -> None:
        self._file.close()
        self._file.commit()
        self._committed = True

    def abort(self) -> None:
        if not self._committed:
            self._file.discard()
