"""What there is to ingest: files by content hash, grouped into shards of workable size."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from whileai_core import __version__
from whileai_core.sources.discovery import find_sources, open_raw

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SHARD_BYTES = 32 * 1024 * 1024
SHARD_FILES = 256
_BLOCK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to ingest, known by what it holds.

    Attributes:
        name: Path or URL as found.
        sha256: Hash of its bytes as stored (before decompression).
        size: Bytes as stored.
    """

    name: str
    sha256: str
    size: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as a JSON object."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """Files that are normalised together; `key` names the result.

    The key covers contents, core version and redaction, never file names' order or the night,
    so an interrupted night finds its finished shards again.
    """

    key: str
    files: tuple[SourceFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files as stored."""
        return sum(file.size for file in self.files)


def discover(paths: Iterable[str]) -> list[SourceFile]:
    """Find the files behind paths, folders, globs and URLs, each content once.

    Files with equal content are kept once, under the name that sorts first, so that neither the
    order of `paths` nor a copied file changes what is ingested.

    Raises:
        SourceNotFound: One of `paths` names nothing.
        UnreadableSource: A file cannot be opened.
    """
    found: dict[str, SourceFile] = {}
    for name in sorted({source for path in paths for source in find_sources(path)}):
        digest, size = _hash(name)
        found.setdefault(digest, SourceFile(name, digest, size))
    return sorted(found.values(), key=lambda file: file.name)


def plan_shards(files: Sequence[SourceFile], *, redaction: str = "") -> list[ShardPlan]:
    """Group files, in order, into shards of about `SHARD_BYTES`.

    Args:
        files: What to ingest.
        redaction: Fingerprint of the redaction key in use, empty for none.
    """
    groups: list[list[SourceFile]] = []
    size = 0
    for file in files:
        if not groups or size + file.size > SHARD_BYTES or len(groups[-1]) == SHARD_FILES:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += file.size
    return [ShardPlan(_key(group, redaction), tuple(group)) for group in groups]


def _key(files: Sequence[SourceFile], redaction: str) -> str:
    parts = [__version__, redaction, *(f"{file.sha256} {file.name}" for file in files)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _hash(name: str) -> tuple[str, int]:
    digest = hashlib.sha256()
    size = 0
    with open_raw(name) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size
