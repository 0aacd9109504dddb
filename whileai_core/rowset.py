"""RowSet: a collection of rows by reference, so that tasks hand over names and never rows.

A RowSet is immutable and content-addressed. Its rows lie in the store as compressed JSONL
parts, each named after the hash of its own content; the manifest, written last, names the
parts. A RowSet exists when its manifest does, so a crash leaves no half of one, and writing
the same rows again costs no space.

::

    <store>/parts/<hash>.jsonl.zst
    <store>/rowsets/<id>.json
"""

from __future__ import annotations

import hashlib
import io
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.blobs import Blobs
from whileai_core.errors import SourceNotFound, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from whileai_core.rows import Row

PART_BYTES = 8 * 1024 * 1024  # uncompressed; bounds what a writer or reader holds
_LEVEL = 3


@dataclass(frozen=True, slots=True)
class RowSet:
    """A handle on stored rows: small, JSON-able, readable wherever the store is.

    Iterating over it streams the rows part by part.

    Attributes:
        id: Hash of the rows' JSONL text; equal rows in equal order have equal ids.
        rows: Number of rows.
        size: Bytes of the uncompressed JSONL.
        store: Folder or fsspec URL of the store that holds it.
    """

    id: str
    rows: int
    size: int
    store: str

    def __iter__(self) -> Iterator[Row]:
        return RowSetStore(self.store).read(self)

    def __len__(self) -> int:
        return self.rows

    def to_dict(self) -> dict[str, Any]:
        """Return the handle as a JSON object."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: dict[str, Any]) -> RowSet:
        """Read back what `to_dict` gave."""
        return cls(**{key: value[key] for key in ("id", "rows", "size", "store")})


class RowSetStore:
    """Writes and reads RowSets below one folder or fsspec URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._blobs = Blobs(url)

    def write(self, rows: Iterable[Row]) -> RowSet:
        """Store rows in the given order and return their handle.

        Raises:
            StoreError: The store cannot be written; no manifest is left.
        """
        writer = self.writer()
        for row in rows:
            writer.add(row)
        return writer.close()

    def writer(self) -> RowSetWriter:
        """Return a writer for rows that come one by one; nothing exists until it is closed."""
        return RowSetWriter(self.url, self._blobs)

    def open(self, rowset_id: str) -> RowSet:
        """Return the handle of a stored RowSet by its id.

        Raises:
            SourceNotFound: The store has no such RowSet.
        """
        manifest = self._manifest(rowset_id)
        return RowSet(rowset_id, manifest["rows"], manifest["size"], self.url)

    def read(self, handle: RowSet) -> Iterator[Row]:
        """Stream the rows of a RowSet; at most one part is held in memory.

        Raises:
            SourceNotFound: The store has no such RowSet.
            StoreError: A part is missing or damaged.
        """
        for chunk in self.read_jsonl(handle):
            for line in io.BytesIO(chunk):  # holds no second copy, as a list of lines would
                yield jsonio.loads(line)

    def read_jsonl(self, handle: RowSet) -> Iterator[bytes]:
        """Stream the JSONL text of a RowSet part by part, as it was hashed."""
        for part in self._manifest(handle.id)["parts"]:
            yield self._read_part(part["hash"])

    def _read_part(self, name: str) -> bytes:
        import zstandard

        data = self._blobs.read(f"parts/{name}.jsonl.zst")
        try:
            chunk = zstandard.ZstdDecompressor().decompress(data)
        except zstandard.ZstdError as error:
            raise StoreError(f"part {name} in {self.url} is damaged: {error}") from error
        if hashlib.sha256(chunk).hexdigest()[:32] != name:
            raise StoreError(f"part {name} in {self.url} does not hold what its name says")
        return chunk

    def _manifest(self, rowset_id: str) -> dict[str, Any]:
        path = f"rowsets/{rowset_id}.json"
        if not self._blobs.exists(path):
            raise SourceNotFound(f"no RowSet {rowset_id} in {self.url}; was the store cleaned?")
        manifest: dict[str, Any] = jsonio.loads(self._blobs.read(path))
        return manifest


class RowSetWriter:
    """Collects rows into parts; `close` writes the manifest and gives the handle."""

    def __init__(self, url: str, blobs: Blobs) -> None:
        self._url = url
        self._blobs = blobs
        self._whole = hashlib.sha256()
        self._parts: list[dict[str, Any]] = []
        self._pending = bytearray()
        self._rows = 0

    def add(self, row: Row) -> None:
        """Append one row; a full part goes to the store at once.

        Raises:
            ValueError: The row is not strict JSON; the message gives the path.
            StoreError: The store cannot be written.
        """
        self.add_line(jsonio.dumps_line(row))

    def add_line(self, line: bytes) -> None:
        """Append one row that is written already (`jsonio.dumps_line`).

        Raises:
            StoreError: The store cannot be written.
        """
        self._pending += line
        self._rows += 1
        if len(self._pending) >= PART_BYTES:
            self._flush()

    def close(self) -> RowSet:
        """Write what is pending and the manifest, and return the handle."""
        if self._rows:
            self._flush()
        rows = sum(part["rows"] for part in self._parts)
        size = sum(part["size"] for part in self._parts)
        handle = RowSet(self._whole.hexdigest()[:32], rows, size, self._url)
        manifest = {"id": handle.id, "rows": rows, "size": size, "parts": self._parts}
        self._blobs.write(f"rowsets/{handle.id}.json", jsonio.dumps(manifest))
        return handle

    def _flush(self) -> None:
        import zstandard

        chunk = bytes(self._pending)
        self._whole.update(chunk)
        name = hashlib.sha256(chunk).hexdigest()[:32]
        path = f"parts/{name}.jsonl.zst"
        if not self._blobs.exists(path):
            compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
            self._blobs.write(path, compressor.compress(chunk))
        self._parts.append({"hash": name, "rows": self._rows, "size": len(chunk)})
        self._pending, self._rows = bytearray(), 0
