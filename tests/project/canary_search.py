"""How the canary test finds a secret in any spelling, in whatever a file holds."""

from __future__ import annotations

import base64
import gzip
import html
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import zstandard

_HALF = 12  # characters of a secret that give it away
_LONG = 20  # shorter secrets, words and numbers among them, are looked for whole


def contents(path: Path) -> bytes:
    """What a file holds, unpacked."""
    data = path.read_bytes()
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data


def leak(data: bytes, mark: str) -> str | None:
    """Say how a secret stands in the data and what is around it; None when it does not."""
    for kind, spelling in spellings(mark):
        # Base64 comes in lines, which JSON spells with a backslash.
        text = data.replace(b"\\n", b"").replace(b"\n", b"") if kind == "base64" else data
        at = text.find(spelling)
        if at >= 0:
            return f"{kind}: …{text[max(0, at - 500) : at + 200].decode('utf-8', 'replace')}"
    return None


def spellings(mark: str) -> Iterator[tuple[str, bytes]]:
    """Yield a secret in every form in which it may stand in a log, a database or a result."""
    mark = mark.removeprefix("Bearer ")
    texts = {
        "plain": {mark, mark.replace(" ", "")},
        "URL-encoded": {quote(mark, safe=""), quote(mark), quote_plus(mark)},
        "JSON": {json.dumps(mark)[1:-1], json.dumps(mark)[1:-1].replace("/", "\\/")},
        "HTML": {html.escape(mark)},
        "hexadecimal": {mark.encode().hex()},
        "base64": {*_base64(mark)},
    }
    if len(mark) >= _LONG and not {" ", "@"} & set(mark):
        texts["a half"] = {mark[:_HALF], mark[-_HALF:]}
    for kind, found in texts.items():
        for text in sorted(found):
            yield kind, text.encode()


def _base64(mark: str) -> Iterator[str]:
    """Yield what is the same of a secret wherever it begins in a longer text."""
    for before in range(3):
        bits = 8 * (before + len(mark.encode()))
        whole = base64.b64encode(b"\0" * before + mark.encode()).decode()
        part = whole[-(-8 * before // 6) : bits // 6]
        yield part
        yield part.replace("+", "-").replace("/", "_")
