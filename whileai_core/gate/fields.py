"""Reading the fields of a request body.

A field that is absent or null was not sent. A sent empty string clears, which is None here.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException

if TYPE_CHECKING:
    from collections.abc import Mapping

PURPOSES = ("train", "holdout", "eval")
MODES = ("explore", "sft", "rl", "adaptive")
_MAX_TEXT = 100_000
_MAX_NAME = 1000
_MAX_SLUG = 100
# RFC 3986, unreserved: what stands in an address as it is.
_UNSAFE = re.compile(r"[^a-z0-9._~-]+")


def sent(body: Mapping[str, Any], field: str) -> bool:
    """Tell whether a field was sent."""
    return body.get(field) is not None


def text(body: Mapping[str, Any], field: str, *, limit: int = _MAX_TEXT) -> str | None:
    """Return a text field, None when it was not sent or is empty.

    Raises:
        HTTPException: 400 when it is no text that can be stored.
    """
    value = body.get(field)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise HTTPException(400, f"{field} must be a string")
    if len(value) > limit:
        raise HTTPException(400, f"{field} is longer than {limit} characters")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise HTTPException(400, f"{field} has characters that no text can carry")
    return value


def name(body: Mapping[str, Any]) -> str:
    """Return the required `name`, trimmed."""
    value = (text(body, "name", limit=_MAX_NAME) or "").strip()
    if not value:
        raise HTTPException(400, "name is required")
    return value


def choice(body: Mapping[str, Any], field: str, allowed: tuple[str, ...]) -> str | None:
    """Return a field with a fixed list of values."""
    value = text(body, field)
    if value is not None and value not in allowed:
        raise HTTPException(400, f"{field} must be one of {', '.join(allowed)}")
    return value


def whole_number(body: Mapping[str, Any], field: str) -> int | None:
    """Return a whole number, None when it was not sent."""
    value = body.get(field)
    if value is not None and type(value) is not int:
        raise HTTPException(400, f"{field} must be a whole number")
    return value


def agent(body: Mapping[str, Any], field: str = "agent") -> tuple[str, str] | None:
    """Return an agent's slug and its name as given; None when unset or blank."""
    value = (text(body, field) or "").strip()
    return (agent_slug(value), value) if value else None


def agent_slug(value: str) -> str:
    """Return the one spelling of an agent's name: trimmed, lower-cased, safe in an address.

    Raises:
        HTTPException: 400 when nothing usable is left.
    """
    decomposed = unicodedata.normalize("NFKD", value).lower().strip()
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    slug = _UNSAFE.sub("-", plain).strip("-.")
    if not slug or len(slug) > _MAX_SLUG:
        raise HTTPException(
            400, f"an agent's name needs letters a-z or digits, at most {_MAX_SLUG} of them"
        )
    return slug
