"""Named bytes below one folder or fsspec URL: written whole, read whole.

Local folders get temporary-file, fsync, rename; object stores put an object in one request,
which is atomic there.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.atomic import sweep_temporaries, write_atomic
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

# They have no folders; to make one there would be to make a bucket of a misspelt name.
OBJECT_STORES = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "oci"})


class Blobs:
    """A folder of named bytes.

    Args:
        url: A local folder, or any fsspec URL (`s3://bucket/prefix`, `memory://x`).
    """

    def __init__(self, url: str) -> None:
        self.url = url.removeprefix("file://")
        self._local = Path(self.url) if "://" not in self.url else None
        self._flat = self.url.partition("://")[0] in OBJECT_STORES
        self._folders: set[str] = set()

    def write(self, name: str, data: bytes) -> None:
        """Write one blob whole or not at all; an existing one is replaced."""
        if self._local is not None:
            write_atomic(self._local / name, data)
            return
        filesystem, root = self._remote
        path = f"{root}/{name}"
        folder = path.rsplit("/", 1)[0]
        with self._translated("write", name):
            if not self._flat and folder not in self._folders:
                filesystem.makedirs(folder, exist_ok=True)
                self._folders.add(folder)
            filesystem.pipe_file(path, data)

    def read(self, name: str) -> bytes:
        """Return one blob."""
        with self._translated("read", name):
            if self._local is not None:
                return (self._local / name).read_bytes()
            filesystem, root = self._remote
            return bytes(filesystem.cat_file(f"{root}/{name}"))

    def exists(self, name: str) -> bool:
        """Say whether the blob is there."""
        if self._local is not None:
            return (self._local / name).is_file()
        filesystem, root = self._remote
        with self._translated("look up", name):
            return bool(filesystem.exists(f"{root}/{name}"))

    def names(self, folder: str) -> list[str]:
        """Return the names of all blobs below a folder, sorted; none where there is no such."""
        if self._local is not None:
            top = self._local / folder
            if top.exists() and not top.is_dir():
                raise StoreError(f"{top} is no folder; move it away")
            paths = (path for path in top.rglob("[!.]*") if path.is_file())
            return sorted(path.relative_to(self._local).as_posix() for path in paths)
        filesystem, root = self._remote
        with self._translated("list", folder):
            return sorted(
                path.removeprefix(f"{root}/") for path in filesystem.find(f"{root}/{folder}")
            )

    def delete(self, name: str) -> None:
        """Remove one blob; a missing one is fine."""
        with self._translated("remove", name), suppress(FileNotFoundError):
            if self._local is not None:
                (self._local / name).unlink()
                return
            filesystem, root = self._remote
            filesystem.rm_file(f"{root}/{name}")

    def sweep(self) -> int:
        """Remove what killed writers left behind and count it; an object store keeps no such."""
        return 0 if self._local is None else sweep_temporaries(self._local)

    def path(self, name: str) -> str:
        """Return the path or URL under which others find a blob."""
        return str(self._local / name) if self._local is not None else f"{self.url}/{name}"

    @cached_property
    def _remote(self) -> tuple[Any, str]:
        from fsspec.core import url_to_fs

        try:
            # Other machines write here too: what was not there a moment ago may be by now.
            filesystem, root = url_to_fs(self.url, use_listings_cache=False)
        except (ValueError, ImportError) as error:
            raise StoreError(f"cannot use the store {self.url}: {error}") from error
        return filesystem, root.rstrip("/")

    @contextmanager
    def _translated(self, verb: str, name: str) -> Iterator[None]:
        try:
            yield
        except StoreError:
            raise
        except Exception as error:  # each file system raises errors of its own library
            if not isinstance(error, OSError) and self._local is not None:
                raise
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise StoreError(f"cannot {verb} {name} in {self.url}: {reason}") from error
