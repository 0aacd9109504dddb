"""Group by key with bounded memory: entries go to buckets, and to disk past a limit."""

from __future__ import annotations

import io
import os
import shutil
import zlib
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.atomic import owner_is_gone, owner_tag
from whileai_core.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BUCKETS = 256
HELD_BYTES = 32 * 1024 * 1024


class Spill:
    """Collects JSON entries by key and gives them back bucket by bucket.

    Entries of one key share a bucket and keep their order, and the order of buckets is fixed,
    whether or not anything went to disk. Use as a context manager: the files go when it ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / f"spill-{owner_tag()}"
        self._held = [bytearray() for _ in range(BUCKETS)]
        self._bytes = 0

    def __enter__(self) -> Spill:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, key: str, entry: dict[str, Any]) -> None:
        """Append one entry under its key."""
        self.add_line(key, jsonio.dumps_line(entry))

    def add_line(self, key: str, line: bytes) -> None:
        """Append one entry that is written already (`jsonio.dumps_line`)."""
        self._held[zlib.crc32(key.encode("utf-8", "surrogatepass")) % BUCKETS] += line
        self._bytes += len(line)
        if self._bytes > HELD_BYTES:
            self._to_disk()

    def buckets(self) -> Iterator[list[dict[str, Any]]]:
        """Yield the entries of each bucket that has any, once; one bucket is held at a time."""
        for index in range(BUCKETS):
            path = self._folder / str(index)
            data = path.read_bytes() if path.exists() else b""
            lines = io.BytesIO(data + self._held[index])
            self._held[index] = bytearray()
            entries = [jsonio.loads(line) for line in lines]
            if entries:
                yield entries
            del data, lines, entries  # before the next bucket is read

    def _to_disk(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            for index, held in enumerate(self._held):
                if held:
                    with (self._folder / str(index)).open("ab") as file:
                        file.write(held)
        except OSError as error:
            raise StoreError(
                f"cannot spill to {self._folder}: {error.strerror or error}; free space and run "
                "again, finished shards are kept"
            ) from error
        self._held = [bytearray() for _ in range(BUCKETS)]
        self._bytes = 0


def sweep_spills(folder: Path) -> int:
    """Remove spill folders whose process on this host is gone; count them."""
    removed = 0
    for path in folder.glob("spill-*") if folder.is_dir() else ():
        if owner_is_gone(os.fsdecode(path.name).removeprefix("spill-")):
            shutil.rmtree(path, ignore_errors=True)
            removed += 1
    return removed
