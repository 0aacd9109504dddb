"""JSON texts that were cut off: exporters cut attribute values at a length."""

from __future__ import annotations

from typing import Any

from whileai_core import jsonio


def mended(text: str) -> Any:
    """Return what a JSON text that was cut off still says, or None when it says nothing."""
    closers, in_string, escaped = _open_ends(text)
    if not closers:
        return None
    for candidate in _endings(text[:-1] if escaped else text, in_string):
        try:
            return jsonio.strict(jsonio.loads(candidate + closers))
        except ValueError:
            continue
    return None


def _open_ends(text: str) -> tuple[str, bool, bool]:
    """Return what closes the open objects and lists, and whether a string or escape is open."""
    closers: list[str] = []
    in_string = escaped = False
    for character in text:
        if in_string:
            in_string = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            in_string = True
        elif character in "{[":
            closers.append("}" if character == "{" else "]")
        elif character in "}]" and closers:
            closers.pop()
    return "".join(reversed(closers)), in_string, escaped


def _endings(stem: str, in_string: bool) -> list[str]:
    if in_string:
        return [stem + '"', stem.rpartition("\\u")[0] + '"', stem + '":null']
    trimmed = stem.rstrip().rstrip(",").rstrip()
    return [stem, trimmed, trimmed + "null"]
