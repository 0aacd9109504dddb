"""Zip and tar archives: each member is a source of its own."""

from __future__ import annotations

import tarfile
import zipfile
import zlib
from typing import TYPE_CHECKING, cast

from whileai_core.sources.compression import BrokenStream
from whileai_core.sources.items import Ignored, Origin, Reject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO, TypeVar

    from whileai_core.sources.compression import ByteStream

    Part = TypeVar("Part")

MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
# An Inspect log keeps each sample under this folder; its other members repeat or count them.
_EVAL_SAMPLES = "samples/"
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


def member_parts(
    file: BinaryIO, name: str, read: Callable[[ByteStream, str], Iterator[Part]]
) -> Iterator[Part | Reject | Ignored]:
    """Yield what `read` finds in each member, in archive order.

    A damaged, encrypted or unknown member becomes a reject; the others are read.
    """
    try:
        archive = zipfile.ZipFile(file)
    except _DAMAGE as error:
        yield Reject("corrupt", f"the zip archive is damaged: {error}", Origin(name), "")
        return
    with archive:
        is_eval_log = any(path.startswith(_EVAL_SAMPLES) for path in archive.namelist())
        if not archive.infolist():
            yield Ignored("empty_source", Origin(name))
        for member in archive.infolist():
            if member.is_dir():
                continue
            inner = f"{name}!{member.filename}"
            reason = _left_out(member.filename, is_eval_log)
            if reason is not None:
                yield Ignored(reason, Origin(inner))
                continue
            try:
                with archive.open(member) as opened:
                    yield from read(_Member(cast("BinaryIO", opened)), inner)
            except _DAMAGE as error:
                detail = f"the archive member is damaged: {error}"
                yield Reject("corrupt", detail, Origin(inner), "")


def is_tar(head: bytes) -> bool:
    """Tell whether a stream begins with the header of a tar member."""
    return head[257:262] == b"ustar" and b"\0" in head[:100]


def tar_parts(
    stream: ByteStream, name: str, read: Callable[[ByteStream, str], Iterator[Part]]
) -> Iterator[Part | Reject | Ignored]:
    """Yield what `read` finds in each file of a tar archive, as it streams by.

    What comes after damage is lost; a reject says so.
    """
    try:
        with tarfile.open(
            fileobj=cast("BinaryIO", _Reading(stream)), mode="r|", errors="replace"
        ) as archive:
            for member in archive:
                inner = f"{name}!{member.name}"
                reason = _left_out(member.name, is_eval_log=False)
                opened = archive.extractfile(member) if member.isreg() else None
                if opened is None:
                    continue
                if reason is not None:
                    yield Ignored(reason, Origin(inner))
                    continue
                yield from read(_Member(cast("BinaryIO", opened)), inner)
    except BrokenStream as error:
        yield Reject(error.reason, error.detail, Origin(name), "")
    except (tarfile.TarError, EOFError, ValueError) as error:
        yield Reject("corrupt", f"the tar archive is damaged: {error}", Origin(name), "")


class _Reading:
    """A stream under the name of the method that tarfile calls."""

    def __init__(self, stream: ByteStream) -> None:
        self.read = stream.read1


def _left_out(path: str, is_eval_log: bool) -> str | None:
    """Return why a member is not read, or None when it is."""
    folders = path.removeprefix("./").split("/")
    if any(part.startswith(".") or part == "__MACOSX" for part in folders):
        return "hidden_file"
    if is_eval_log and not path.startswith(_EVAL_SAMPLES):
        return "eval_log_summary"
    return None


class _Member:
    """A member whose damage is told as that of a stream."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened

    def read1(self, size: int, /) -> bytes:
        try:
            return self._opened.read(size)
        except _DAMAGE as error:
            raise BrokenStream("corrupt", f"the archive member is damaged: {error}") from None
