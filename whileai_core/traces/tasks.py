"""The task of a row, in the form under which a split remembers it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

_ID_KEYS = ("scenario_id", "task_id")


def fold(text: str) -> str:
    """Return a text without what does not tell asks apart: case, spacing, Unicode form."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return " ".join(text.lower().split())


def canonical_task(row: Row) -> str | None:
    """Return the task a row belongs to, or None when the row is a task of its own.

    The first of `scenario_id`, `task_id`, `prompt` that is given. Ids count as written (0 is an
    id), asks without case and spacing, so that "Reset it" and " reset  it" are one task.
    """
    for key in _ID_KEYS:
        value = row.get(key)
        if value or (value == 0 and value is not False and value is not None):
            text = plain_text(value)
            return text if text.strip() else None
    prompt = row.get("prompt")
    return fold(plain_text(prompt)) or None if prompt else None
