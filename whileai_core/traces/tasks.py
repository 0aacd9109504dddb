"""The task of a row, in the form under which a split remembers it."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from whileai_core.rows import TASK_IDS, given_id
from whileai_core.traces.values import plain_text

if TYPE_CHECKING:
    from whileai_core.rows import Row

# Characters that show nothing: soft hyphens, joiners, marks of byte order and direction.
_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)


def fold(text: str) -> str:
    """Return a text without what does not tell asks apart.

    That is case, spacing, Unicode form, the shape of quotes and dashes, invisible characters.
    """
    if text.isascii():
        return " ".join(text.lower().split())
    visible = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).translate(_PLAIN)
    return " ".join(unicodedata.normalize("NFKC", visible.casefold()).split())


def canonical_task(row: Row) -> str | None:
    """Return the task a row belongs to, or None when the row is a task of its own.

    The first of `scenario_id`, `task_id`, `prompt` that is given. Ids count as written (0 is an
    id), asks without case and spacing, so that "Reset it" and " reset  it" are one task.
    """
    for key in TASK_IDS:
        identity = given_id(row.get(key))
        if identity is not None:
            text = plain_text(identity)
            return text if text.strip() else None
    prompt = row.get("prompt")
    return fold(plain_text(prompt)) or None if prompt else None
