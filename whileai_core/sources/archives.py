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
# An Inspect log keeps each sample under this folder; its other members repeat or count them.
_EVAL_SAMPLES = "samples/"
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


def _left_out(path: str, is_eval_log: bool) -> str | None:
    """Return why a member is not read, or None when it is."""
    if any(part.startswith(".") or part == "__MACOSX" for part in path.split("/")):
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
