"""Count and check the lines of a JSONL stream as its bytes pass by."""

from __future__ import annotations

import codecs
from typing import Any

from whileai_core import jsonio


def read_line(line: bytes) -> Any:
    """Return the value of one line; a byte order mark before it is let through.

    Raises:
        ValueError: The line is not one JSON value.
    """
    return jsonio.loads(line.removeprefix(codecs.BOM_UTF8))


class LineCounter:
    """Counts JSON values, one a line; remembers the first line that is none.

    Lines end at LF only, blank lines do not count, and NaN is let through because the peer SDK
    writes it. After the first problem the rest is not looked at.

    Attributes:
        rows: Values read so far.
        problem: What is wrong with the first bad line, in one sentence; None while all is well.
    """

    def __init__(self, max_line_bytes: int) -> None:
        self.rows = 0
        self.problem: str | None = None
        self._max_line_bytes = max_line_bytes
        self._line = 0
        self._rest = bytearray()

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        if self.problem is not None:
            return
        head, *lines = data.split(b"\n")
        self._rest += head
        for line in lines:
            self._end_line()
            self._rest += line
        if len(self._rest) > self._max_line_bytes:
            self._fail(self._line + 1, f"is longer than {self._max_line_bytes} bytes")

    def finish(self) -> None:
        """Take the last line, which may lack its LF."""
        self._end_line()

    def _end_line(self) -> None:
        line = bytes(self._rest).strip()
        self._rest.clear()
        self._line += 1
        if not line or self.problem is not None:
            return
        try:
            read_line(line)
        except ValueError:
            self._fail(self._line, "is not a JSON value")
        else:
            self.rows += 1

    def _fail(self, line: int, what: str) -> None:
        self.problem = f"line {line} {what}; a dataset is JSONL, one JSON object a line"
        self._rest.clear()
