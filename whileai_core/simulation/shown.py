"""What of another's words may be kept on rows and in messages: a short line, no secrets."""

from __future__ import annotations

import re

SHOWN_CHARACTERS = 200
_READ_CHARACTERS = 4000  # more is not looked at; a secret cut there is masked or cut away
_MASK = "***"

# Beside the forms of known issuers: short keys by their prefix, and long runs that are no words.
_KEY = re.compile(r"\b(?:sk-[\w-]{3,}|(?:sk|pk|rk|zp)[-_](?=[\w-]*\d|[\w-]{16})[\w-]{4,})")
_RUN = re.compile(r"(?<![\w-])(?=[\w-]*[A-Za-z])(?=[\w-]*\d)[\w-]{20,}={0,2}")
_BASE64 = re.compile(
    r"(?<![\w+/])(?=[\w+/]*[a-z])(?=[\w+/]*[A-Z])(?=[\w+/]*\d)[A-Za-z0-9+/]{40,}={0,2}"
)


def shown_error(error: BaseException) -> str:
    """Return `Type: text` of an exception (see `shown_text`)."""
    return shown_text(str(error), f"{type(error).__name__}: ")


def shown_text(text: str, start: str = "") -> str:
    """Return a text on one line of at most 200 characters, with secrets masked.

    Keys, tokens, passwords and whatever looks like one become `***`; addresses lose user name
    and query.

    Args:
        text: What another said.
        start: Put before it as it is.
    """
    line = start + " ".join(_masked(text[:_READ_CHARACTERS]).split())
    return line if len(line) <= SHOWN_CHARACTERS else line[: SHOWN_CHARACTERS - 1] + "…"


def _masked(text: str) -> str:
    # Here, because they are needed only when something failed.
    from whileai_core.platform._redact import Redactor
    from whileai_core.redaction import credentials
    from whileai_core.redaction.hits import Claims, Shape

    claims = Claims()
    claims.add(credentials.find(text, Shape(text), issuers=False))
    claims.add(credentials.find_key_values(text))
    for hit in sorted(claims.hits, reverse=True):
        text = text[: hit.start] + _MASK + text[hit.end :]
    text = Redactor(()).clean(text)
    for pattern in (_BASE64, _KEY, _RUN):
        text = pattern.sub(_MASK, text)
    return text
