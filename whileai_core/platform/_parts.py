"""The parts of one dataset, fetched side by side and written in their order.

A part is fetched into a file of its own; parts that overtook wait there. Only a bounded number
of parts is ahead of the writer, so memory and disk stay bounded whatever the dataset's size.
"""

from __future__ import annotations

import logging
import tempfile
from typing import IO, TYPE_CHECKING

import anyio
from anyio import to_thread

from whileai_core.errors import BadReply, PlatformError
from whileai_core.platform._call import EXPIRED_STATUSES
from whileai_core.platform._connect import CONNECTIONS
from whileai_core.platform._groups import task_group

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from anyio.abc import TaskGroup

    from whileai_core.platform._wire import Grant
    from whileai_core.platform.transport import Transport

_AHEAD = 2 * CONNECTIONS
_IN_MEMORY = 1 << 20
_CHUNK = 1 << 18
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\n\r\x0b\x0c"

log = logging.getLogger(__name__)


async def write_parts(
    platform: Transport, ask: Callable[[], Awaitable[Grant]], out: IO[bytes]
) -> None:
    """Write all parts of a dataset as one JSON Lines text, one line feed between parts.

    Args:
        platform: Where to fetch from.
        ask: Gets a download grant; asked again when addresses have expired.
        out: Gets the bytes.

    Raises:
        PlatformError: A part could not be had in full.
    """
    await _Parts(platform, ask, await ask()).write_to(out)


class _Parts:
    def __init__(
        self, platform: Transport, ask: Callable[[], Awaitable[Grant]], grant: Grant
    ) -> None:
        self._platform = platform
        self._ask = ask
        self._grant = grant
        self._asking = anyio.Lock()
        self._connections = anyio.CapacityLimiter(CONNECTIONS)
        self._ahead = anyio.Semaphore(_AHEAD)
        self._arrived = [anyio.Event() for _ in grant.urls]
        self._files: dict[int, IO[bytes]] = {}

    async def write_to(self, out: IO[bytes]) -> None:
        written = False
        try:
            async with task_group() as group:
                group.start_soon(self._fetch_all, group)
                for number, arrived in enumerate(self._arrived):
                    await arrived.wait()
                    part = self._files.pop(number)
                    with part:
                        written |= await to_thread.run_sync(_append, part, out, written)
                    self._ahead.release()
        finally:
            for part in self._files.values():
                part.close()
        if written:
            out.write(b"\n")

    async def _fetch_all(self, group: TaskGroup) -> None:
        for number in range(len(self._arrived)):
            await self._ahead.acquire()
            group.start_soon(self._fetch, number)

    async def _fetch(self, number: int) -> None:
        async with self._connections:
            file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
            self._files[number] = file
            grant = self._grant
            try:
                received = await self._platform.download(grant.urls[number], file)
            except PlatformError as error:
                if error.status not in EXPIRED_STATUSES:
                    raise
                log.info("a download address was refused (%s); asking anew", error.status)
                grant = await self._fresh_grant(grant)
                received = await self._platform.download(grant.urls[number], file)
        announced = grant.sizes[number] if grant.sizes is not None else received
        if received != announced:
            raise BadReply(
                f"part {number + 1} has {received} bytes instead of {announced}; pull again"
            )
        self._arrived[number].set()

    async def _fresh_grant(self, stale: Grant) -> Grant:
        """Ask for new addresses, once for all parts that found theirs expired."""
        async with self._asking:
            if self._grant is stale:
                fresh = await self._ask()
                if len(fresh.urls) != len(stale.urls):
                    raise BadReply(
                        f"the dataset changed from {len(stale.urls)} to {len(fresh.urls)} parts "
                        "while it was being pulled; pull again"
                    )
                self._grant = fresh
            return self._grant


def _append(part: IO[bytes], out: IO[bytes], after_another: bool) -> bool:
    """Copy one part without outer blanks and byte order mark; tell whether it held anything."""
    part.seek(0)
    started = False
    blanks = b""  # kept back: they are only written if something follows
    while chunk := part.read(_CHUNK):
        if not started:
            chunk = chunk.lstrip(_BLANK).removeprefix(_BOM).lstrip(_BLANK)
            if not chunk:
                continue
            started = True
            if after_another:
                out.write(b"\n")
        content = chunk.rstrip(_BLANK)
        if content:
            out.write(blanks)
            out.write(content)
            blanks = chunk[len(content) :]
        else:
            blanks += chunk
    return started
