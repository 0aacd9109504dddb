"""What there is to ingest: files by content hash, grouped into shards of workable size."""

from __future__ import annotations

import hashlib
import socket
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from whileai_core.errors import UnreadableSource
from whileai_core.ingest.sharing import is_shared
from whileai_core.sources.discovery import Skipped, find, open_raw, without_secrets
from whileai_core.version import __version__

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

    @property
    def shared(self) -> bool:
        """Whether another machine can read the files."""
        return all(is_shared(file.name) for file in self.files)


def discover(paths: Iterable[str]) -> tuple[list[SourceFile], list[Skipped]]:
    """Find the files behind paths, folders, globs and URLs, each content once; and what is no file.

    Files with equal content are kept once, under the name that sorts first, so that neither the
    order of `paths` nor a copied file changes what is ingested.

    Raises:
        SourceNotFound: One of `paths` names nothing.
        UnreadableSource: A file cannot be opened.
    """
    searched = [find(path) for path in paths]
    found: dict[str, SourceFile] = {}
    for name in sorted({name for one in searched for name in one.files}):
        digest, size = _hash(name)
        found.setdefault(digest, SourceFile(name, digest, size))
    skipped = sorted({piece for one in searched for piece in one.skipped})
    return sorted(found.values(), key=lambda file: file.name), skipped


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
    return [ShardPlan(shard_key(group, redaction), tuple(group)) for group in groups]


def shard_key(files: Sequence[SourceFile], redaction: str) -> str:
    """Name a shard's result; who comes to another name for the same files would make other rows."""
    parts = [__version__, redaction, *(f"{file.sha256} {file.name}" for file in files)]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def check_same(file: SourceFile) -> None:
    """Make sure that a name means here what it meant where it was found; it may have grown since.

    Raises:
        SourceNotFound: There is no such file here.
        UnreadableSource: It is another file.
    """
    if _hash(file.name, limit=file.size) != (file.sha256, file.size):
        raise UnreadableSource(
            f"{file.name} is another file on {socket.gethostname()} than on the machine that found "
            "it; mount the same folder on both, or name it without file:// to have it read there"
        )


def _hash(name: str, *, limit: int = sys.maxsize) -> tuple[str, int]:
    """Return the hash and number of the first bytes of a file."""
    digest = hashlib.sha256()
    size = 0
    with open_raw(name) as file:
        try:
            while block := file.read(min(_BLOCK, limit - size)):
                digest.update(block)
                size += len(block)
        except OSError as error:
            raise UnreadableSource(
                f"{without_secrets(name)} cannot be read to its end ({error.strerror or error})"
            ) from error
    return digest.hexdigest(), size
