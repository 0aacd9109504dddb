"""What of a server's answer may be shown: one short line without any secret."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from whileai_core import jsonio

if TYPE_CHECKING:
    from collections.abc import Iterable

SHOWN_CHARACTERS = 400
MASK = "***"
_SHORTEST_SECRET = 4  # shorter ones would mask half of every message

_KEYS = re.compile(r"\bzp_\w+|\b(?:Bearer|Basic)\s+[\w.~+/=-]+", re.IGNORECASE)
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
_QUERY = re.compile(r"(https?://[^\s?\"'<>]*)\?[^\s\"'<>]*")
_SIGNATURES = re.compile(
    r"\b(X-Amz-[\w-]+|X-Goog-[\w-]+|AWSAccessKeyId|GoogleAccessId|Signature|sig|token)=[^\s&\"'<>]+",
    re.IGNORECASE,
)
_XML_FIELD = re.compile(r"<(Code|Message|title)>([^<]*)</\1>", re.IGNORECASE)


class ServerWords(NamedTuple):
    """What a server said about a failure, fit to be shown."""

    detail: str
    code: str | None


class Redactor:
    """Removes the secrets of one call, and whatever looks like one, from texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets: list[str] = []
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Take in one more secret; longer ones are masked first."""
        if len(secret) >= _SHORTEST_SECRET and secret not in self._secrets:
            self._secrets = sorted([*self._secrets, secret], key=len, reverse=True)

    def clean(self, text: str) -> str:
        """Return the text with secrets, signatures, queries and user names masked."""
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        text = _USERINFO.sub("", text)
        text = _QUERY.sub(r"\1", text)
        text = _SIGNATURES.sub(rf"\1={MASK}", text)
        return _KEYS.sub(MASK, text)

    def words(self, body: bytes) -> ServerWords:
        """Read an error body: JSON of the usual shapes, else the few words a page has.

        The body is parsed whole and cut afterwards. Of XML and HTML only code, message and
        title are taken: storage services echo the access key and the signed string.
        """
        text = body.decode("utf-8", "replace").strip()
        try:
            reply = jsonio.loads(body) if body else None
        except ValueError:
            reply = None
        code: str | None = None
        if isinstance(reply, dict):
            detail, code = _words_of(reply)
        elif text.startswith("<"):
            detail = " ".join(match.strip() for _, match in _XML_FIELD.findall(text))
        else:
            detail = text
        line = " ".join(self.clean(detail).split())
        if len(line) > SHOWN_CHARACTERS:
            line = line[:SHOWN_CHARACTERS] + "…"
        return ServerWords(line, self.clean(code) if code else None)


def _words_of(reply: dict[str, Any]) -> tuple[str, str | None]:
    code = reply.get("code")
    for key in ("error", "message", "detail", "title"):
        value = reply.get(key)
        if isinstance(value, dict):
            detail, inner = _words_of(value)
            if detail:
                return detail, inner or _text(code)
        elif isinstance(value, list) and value:
            return jsonio.dumps(value).decode("utf-8"), _text(code)
        elif value:
            return str(value), _text(code)
    return "", _text(code)


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def shown_url(url: str, *, presigned: bool) -> str:
    """Return an address for messages: no query, no user name; of a presigned one the host only.

    The path of a presigned address can be the permission itself.
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{'/(presigned)' if presigned else parts.path}"
