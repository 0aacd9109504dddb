"""A policy text cut into the clauses a grid can vary."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHORTEST = 8
_LONGEST = 120

_BLANK_LINES = re.compile(r"\n[^\S\n]*\n\s*")
_MARK = r"(?:\#{1,6}|\d+[.)]|[-*•])\s+"
_PART_START = re.compile(rf"\s*(?:{_MARK}|[A-Z][^:]{{1,40}}:\s)")
_LEADING_MARK = re.compile(_MARK)
_ROLE = re.compile(r"(?:you are|you're|your role is|your role|you act as|act as)\b", re.IGNORECASE)
_FIRST_SENTENCE = re.compile(r".*?[.!;]\s+", re.DOTALL)
_SENTENCE_GAP = re.compile(r"(?<=[.!?])\s+")
_SEMICOLON_GAP = re.compile(r";\s+")


def policy_clauses(policy: str | None, cap: int | None = None) -> list[str]:
    """Return the clauses of a policy in document order, without repeats (case ignored).

    Args:
        policy: The text, if there is one: paragraphs, headings, lists, `Label: ` lines.
        cap: How many clauses to keep; None keeps all.
    """
    clauses: dict[str, str] = {}
    for piece in _pieces(policy or ""):
        if cap is not None and len(clauses) >= cap:
            break
        clause = _tidy(piece)
        if clause:
            clauses.setdefault(clause.lower(), clause)
    return list(clauses.values())


def _pieces(policy: str) -> Iterator[str]:
    for part in _parts(policy):
        text = _without_role(part)
        for sentence in _split(_SENTENCE_GAP, text, " \t\n"):
            yield from _split(_SEMICOLON_GAP, sentence, " \t-•")


def _parts(policy: str) -> Iterator[str]:
    for block in _BLANK_LINES.split(policy.strip()):
        lines: list[str] = []
        for line in block.splitlines():
            if lines and _PART_START.match(line):
                yield "\n".join(lines)
                lines = []
            lines.append(line)
        if lines:
            yield "\n".join(lines)


def _without_role(part: str) -> str:
    text = part.strip()
    if _ROLE.match(text) is None:
        return text
    first = _FIRST_SENTENCE.match(text)
    return "" if first is None else text[first.end() :]


def _split(gap: re.Pattern[str], text: str, trimmed: str) -> list[str]:
    """Split at the gaps only when that gives several pieces, none of them tiny."""
    pieces = [piece.strip(trimmed) for piece in gap.split(text)]
    if len(pieces) > 1 and all(len(piece) >= _SHORTEST for piece in pieces):
        return pieces
    return [text]


def _tidy(piece: str) -> str:
    text = " ".join(piece.split())
    mark = _LEADING_MARK.match(text)
    if mark is not None:
        text = text[mark.end() :].strip()
    if len(text) < _SHORTEST or _ROLE.match(text):
        return ""
    if len(text) > _LONGEST:
        head, space, _ = text[:_LONGEST].rpartition(" ")
        text = (head if space else text[:_LONGEST]).strip(" ,;:")
    return text if len(text) >= _SHORTEST else ""
