"""Zip archives: each member is a source of its own."""

from __future__ import annotations

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
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


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
        for member in archive.infolist():
            if member.is_dir():
                continue
            inner = f"{name}!{member.filename}"
            if _is_hidden(member.filename):
                yield Ignored("hidden_file", Origin(inner))
                continue
            try:
                with archive.open(member) as opened:
                    yield from read(_Member(cast("BinaryIO", opened)), inner)
            except _DAMAGE as error:
                detail = f"the archive member is damaged: {error}"
                yield Reject("corrupt", detail, Origin(inner), "")


def _is_hidden(path: str) -> bool:
    return any(part.startswith(".") or part == "__MACOSX" for part in path.split("/"))


class _Member:
    """A member whose damage is told as that of a stream."""

    def __init__(self, opened: BinaryIO) -> None:
        self._opened = opened

    def read1(self, size: int, /) -> bytes:
        try:
            return self._opened.read(size)
        except _DAMAGE as error:
            raise BrokenStream("corrupt", f"the archive member is damaged: {error}") from None
