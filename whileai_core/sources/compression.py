"""Undoing compression, recognised by the first bytes: gzip, zstandard, bzip2, xz."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import BinaryIO

# zstandard has no bound for its output: so much can unpack to some ten MiB, not more.
_ZSTD_BLOCK = 2 * 1024


class BrokenStream(Exception):
    """A stream breaks or grows past its limit; what was read before is good."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


class ByteStream(Protocol):
    """What readers need of an open source: at most `size` bytes, none at the end."""

    def read1(self, size: int, /) -> bytes: ...


def unpacker(head: bytes) -> Callable[[ByteStream], ByteStream] | None:
    """Return what undoes the compression that `head` starts with, or None."""
    for magic, opener in _OPENERS.items():
        if head.startswith(magic):
            return opener
    return None


class Bounded:
    """A stream that stops after a number of bytes and names what breaks it.

    Raises:
        BrokenStream: The compressed data is damaged or cut, the device fails, or the stream
            holds more than `limit` bytes.
    """

    def __init__(self, stream: ByteStream, limit: int) -> None:
        self._stream = stream
        self._left = limit
        self._limit = limit
        self._broken: BrokenStream | None = None

    def read1(self, size: int, /) -> bytes:
        """Return the next bytes, at most `size`; once broken, always broken."""
        if self._broken is None:
            try:
                data = self._stream.read1(size)
            except BrokenStream as error:
                self._broken = error
            except EOFError:
                self._broken = BrokenStream("truncated", "the compressed data ends too early")
            except (OSError, zlib.error, lzma.LZMAError, _zstd_error()) as error:
                self._broken = _broken_by(error)
            else:
                self._left -= len(data)
                if self._left >= 0:
                    return data
                detail = f"holds more than {self._limit} bytes"
                self._broken = BrokenStream("too_large", detail)
        raise self._broken


def _broken_by(error: Exception) -> BrokenStream:
    # gzip and bz2 tell damage as an OSError without a number.
    if isinstance(error, OSError) and error.errno is not None:
        return BrokenStream("unreadable", f"reading fails: {error.strerror or error}")
    return BrokenStream("corrupt", f"the compressed data is damaged: {error}")


class _ZstdStream:
    """Reads zstandard frames one after the other; a cut frame raises EOFError."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self._frame: Any = None
        self._input = b""
        self._output = b""

    def read1(self, size: int, /) -> bytes:
        while not self._output:
            data = self._input or self._stream.read1(_ZSTD_BLOCK)
            if not data:
                if self._frame is not None:
                    raise EOFError
                return b""
            self._feed(data)
        data, self._output = self._output[:size], self._output[size:]
        return data

    def _feed(self, data: bytes) -> None:
        import zstandard

        if self._frame is None:
            self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._output = self._frame.decompress(data)
        self._input = b""
        if self._frame.eof:
            self._input = self._frame.unused_data
            self._frame = None


def _zstd_error() -> type[Exception]:
    import zstandard

    return zstandard.ZstdError


def _gzip(stream: ByteStream) -> ByteStream:
    return gzip.GzipFile(fileobj=cast("BinaryIO", _WithRead(stream)))


def _bzip2(stream: ByteStream) -> ByteStream:
    return bz2.BZ2File(cast("BinaryIO", _WithRead(stream)))


def _xz(stream: ByteStream) -> ByteStream:
    return lzma.LZMAFile(cast("BinaryIO", _WithRead(stream)))


class _WithRead:
    """The part of a file object that the standard library's unpackers ask for."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def read(self, size: int = -1, /) -> bytes:
        return self._stream.read1(size)

    def seekable(self) -> bool:
        return False


_OPENERS: dict[bytes, Callable[[ByteStream], ByteStream]] = {
    b"\x1f\x8b\x08": _gzip,
    b"\x28\xb5\x2f\xfd": _ZstdStream,
    b"BZh": _bzip2,
    b"\xfd7zXZ\x00": _xz,
}
