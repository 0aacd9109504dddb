"""Three rows of a dataset to look at: the first, the middle and the last one, whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.gate.jsonl import read_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from whileai_core.gate.blobs import BlobStore
    from whileai_core.gate.tables import Part


def sample_rows(blobs: BlobStore, parts: Sequence[Part]) -> list[tuple[int, Any]]:
    """Return up to three rows with their numbers, from 1; only the parts they lie in are read."""
    total = sum(part.rows for part in parts)
    wanted = sorted({0, total // 2, total - 1}) if total else []
    found: list[tuple[int, Any]] = []
    before = 0
    for part in parts:
        here = [place - before for place in wanted if before <= place < before + part.rows]
        if here:
            rows = _rows_at(blobs, part.blob_key, here)
            found += [(before + place + 1, row) for place, row in rows]
        before += part.rows
    return found


def _rows_at(blobs: BlobStore, key: str, places: Sequence[int]) -> Iterator[tuple[int, Any]]:
    with blobs.open(key) as file:
        lines = (line for line in file if line.strip())
        for place, line in enumerate(lines):
            if place in places:
                # Rows may hold what no page can carry.
                yield place, jsonio.strict(read_line(line.strip()))
            if place >= places[-1]:
                return
