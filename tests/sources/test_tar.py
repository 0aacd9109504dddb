"""Tar archives, plain or compressed, are read member by member."""

from __future__ import annotations

import gzip
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from whileai_core.dialects.load import RecordsLeftOut, load_traces

if TYPE_CHECKING:
    from pathlib import Path

LINES = b'{"prompt": "a"}\n{"prompt": "b"}\n'


def tarred(style: int = tarfile.PAX_FORMAT, **members: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=style) as archive:
        folder = tarfile.TarInfo("logs")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, data in members.items():
            member = tarfile.TarInfo(f"./logs/{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_members_are_sources(tmp_path: Path, style: int, pack: type[bytes]) -> None:
    more = gzip.compress(b'[{"prompt": "c"}]')
    data = pack(tarred(style, **{"a.jsonl": LINES, "._a.jsonl": b"\0\1", "b.json.gz": more}))
    path = tmp_path / "logs.tar"
    path.write_bytes(data)
    assert [row["prompt"] for row in load_traces(path)] == ["a", "b", "c"]
    assert [row["prompt"] for row in load_traces(data)] == ["a", "b", "c"]


def test_what_stands_before_damage_is_kept_and_the_damage_told() -> None:
    data = tarred(a=LINES, b=LINES * 400)
    with pytest.warns(RecordsLeftOut, match="damaged|end of"):
        rows = load_traces(data[:3000])
    assert [row["prompt"] for row in rows[:2]] == ["a", "b"]
