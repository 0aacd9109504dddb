"""From a named or handed-over source to its parts, whatever its bytes turn out to be."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from whileai_core.errors import UnreadableSource
from whileai_core.sources import archives, otlp_protobuf, tables
from whileai_core.sources.compression import Bounded, BrokenStream, unpacker
from whileai_core.sources.discovery import Found, find, open_raw, shown, without_secrets
from whileai_core.sources.items import Origin, Record, Reject
from whileai_core.sources.limits import DEFAULT_LIMITS, Limits, raw_text
from whileai_core.sources.texts import Items, text_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeAlias

    from whileai_core.sources.compression import ByteStream
    from whileai_core.sources.items import Ignored
    from whileai_core.sources.texts import Lines

    Part: TypeAlias = Lines | Items | Record | Reject | Ignored

MEMORY = "<memory>"
_PEEK_BYTES = 64 * 1024
_DEEPEST_PACKING = 4  # a gzipped member of a zipped archive is three; more is a quine or a bomb
_SPOOLED_BYTES = 64 * 1024 * 1024


def path_parts(source: str | os.PathLike[str], limits: Limits = DEFAULT_LIMITS) -> Iterator[Part]:
    """Yield the parts of every file that a path, folder, glob or URL stands for.

    Raises:
        SourceNotFound: It names nothing that exists; raised at once.
        UnreadableSource: A file cannot be opened.
    """
    found = find(source)
    parts = chain.from_iterable(found_parts(name, limits) for name in found.files)
    return chain(parts, skipped_parts(found))


def skipped_parts(found: Found) -> Iterator[Reject]:
    """Yield what was skipped in a search as parts that cannot be read."""
    for name, reason in found.skipped:
        yield Reject("skipped", reason, Origin(name), "")


def found_parts(name: str, limits: Limits = DEFAULT_LIMITS) -> Iterator[Part]:
    """Yield the parts of one file that `find_sources` found, whatever its name looks like."""
    with open_raw(name) as file:
        yield from file_parts(file, without_secrets(name), limits)


def bytes_parts(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Iterator[Part]:
    """Yield the parts of bytes in memory."""
    return file_parts(io.BytesIO(data), MEMORY, limits)


def file_parts(file: Any, name: str | None, limits: Limits = DEFAULT_LIMITS) -> Iterator[Part]:
    """Yield the parts of an open file, binary or text, from where it stands."""
    label = name if name is not None else _name_of(file)
    peeked = _Peeked(Bounded(_FileStream(file), sys.maxsize))
    return _parts(peeked, label, limits, _DEEPEST_PACKING, _rewindable(file))


def _rewindable(file: Any) -> BinaryIO | None:
    """Return a file that can be read from its end backwards too, if this is one at its start."""
    try:
        rewindable = bool(file.seekable()) and not isinstance(file, io.TextIOBase)
    except (AttributeError, ValueError):
        return None
    return cast("BinaryIO", file) if rewindable else None


def _name_of(file: Any) -> str:
    name = getattr(file, "name", None)
    return shown(name) if isinstance(name, str) else MEMORY


class _FileStream:
    """Any object with `read`, as a byte stream."""

    def __init__(self, file: Any) -> None:
        self._read = getattr(file, "read1", None) or file.read

    def read1(self, size: int, /) -> bytes:
        data = self._read(size)
        if isinstance(data, str):
            return data.encode("utf-8", "surrogatepass")
        if not isinstance(data, bytes | bytearray | memoryview):
            raise UnreadableSource(
                f"read() gives {type(data).__name__}; hand over a file opened for reading bytes"
            )
        return bytes(data)


class _Peeked:
    """A stream whose first bytes are known and come again."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.head = b""
        self.broken: BrokenStream | None = None
        while len(self.head) < _PEEK_BYTES:
            try:
                data = stream.read1(_PEEK_BYTES - len(self.head))
            except BrokenStream as error:
                self.broken = error
                break
            if not data:
                break
            self.head += data
        self._ahead = self.head

    def read1(self, size: int, /) -> bytes:
        if self._ahead:
            data, self._ahead = self._ahead[:size], self._ahead[size:]
            return data
        if self.broken is not None:
            raise self.broken
        return self._stream.read1(size)


def _parts(
    stream: _Peeked, name: str, limits: Limits, depth: int, file: BinaryIO | None = None
) -> Iterator[Part]:
    """Yield the parts of a stream; `file` is what it reads from, if that can be rewound."""
    head = stream.head
    unpack = unpacker(head)
    is_archive = head.startswith(archives.MAGIC)
    is_tar = archives.is_tar(head)
    if (unpack or is_archive or is_tar) and depth == 0:
        yield Reject("packed_too_deep", "packed more times over than is read", Origin(name), "")
    elif unpack is not None:
        unpacked = _Peeked(Bounded(unpack(stream), limits.unpacked_bytes))
        yield from _parts(unpacked, name, limits, depth - 1)
    elif is_tar:
        yield from archives.tar_parts(stream, name, _member_reader(limits, depth - 1))
    elif is_archive or head.startswith(tables.MAGIC):
        yield from _random_access_parts(stream, name, limits, depth - 1, file)
    elif otlp_protobuf.looks_like_otlp_protobuf(head):
        yield from _protobuf_parts(stream, name, limits)
    else:
        yield from text_parts(stream, name, limits)


def _member_reader(limits: Limits, depth: int) -> Callable[[ByteStream, str], Iterator[Part]]:
    """Return what reads a member of an archive."""

    def read(opened: ByteStream, inner: str) -> Iterator[Part]:
        return _parts(_Peeked(Bounded(opened, limits.unpacked_bytes)), inner, limits, depth)

    return read


def _random_access_parts(
    stream: _Peeked, name: str, limits: Limits, depth: int, file: BinaryIO | None
) -> Iterator[Part]:
    try:
        whole = _spooled(stream) if file is None else file
        whole.seek(0)
    except BrokenStream as error:
        yield Reject(error.reason, error.detail, Origin(name), "")
        return
    if stream.head.startswith(archives.MAGIC):
        yield from archives.member_parts(whole, name, _member_reader(limits, depth))
    else:
        yield Items(name, tables.table_records(whole, name, stream.head))
    if file is None:
        whole.close()


def _spooled(stream: ByteStream) -> BinaryIO:
    """Copy a stream to where its end can be read first, as these formats need."""
    file = tempfile.SpooledTemporaryFile(max_size=_SPOOLED_BYTES)  # noqa: SIM115  handed on
    while data := stream.read1(1024 * 1024):
        file.write(data)
    return cast("BinaryIO", file)


def _protobuf_parts(stream: _Peeked, name: str, limits: Limits) -> Iterator[Part]:
    raw = raw_text(stream.head[:1024])
    batches = otlp_protobuf.stream_batches(stream, longest=limits.record_bytes)
    try:
        for number, batch in enumerate(batches, 1):
            origin = Origin(name, f"batch {number}")
            if isinstance(batch, ValueError):
                yield Reject("not_protobuf", str(batch), origin, raw)
            else:
                yield Record(batch, origin)
    except BrokenStream as error:
        yield Reject(error.reason, error.detail, Origin(name), raw)
