"""Where something is published: the repository's full name, checked before anything is sent."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from whileai_core.errors import InputError, Refused

if TYPE_CHECKING:
    from whileai_core.hub.client import Me

_PART = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
_UNSAFE = re.compile(r"[^a-z0-9._-]+")
_LONGEST = 90


def checked_names(namespace: str | None, repo: str | None) -> tuple[str | None, str | None]:
    """Return namespace and repository name as asked for; `repo` may hold both.

    Raises:
        InputError: One cannot be a name on the Hub, or the two contradict each other.
    """
    if repo and "/" in repo:
        named, _, repo = repo.partition("/")
        if namespace and namespace != named:
            raise InputError(f"repo names the namespace {named!r}, namespace={namespace!r} another")
        namespace = named
    for part in (namespace, repo):
        if part and (not _PART.fullmatch(part) or "--" in part or ".." in part):
            raise InputError(
                f"{part[:100]!r} is no name on the Hub: letters, digits, '-', '_' and '.', at most "
                "96, without '--' and '..'"
            )
    return namespace or None, repo or None


def repo_name(text: str) -> str:
    """Return a repository name made of any text."""
    decomposed = unicodedata.normalize("NFKD", text).lower()
    plain = "".join(character for character in decomposed if not unicodedata.combining(character))
    name = _UNSAFE.sub("-", plain)
    name = re.sub(r"-{2,}", "-", re.sub(r"\.{2,}", ".", name))
    return name.strip("-._")[:_LONGEST].strip("-._") or "rows"


def full_name(me: Me, namespace: str | None, repo: str) -> str:
    """Return `namespace/name` for an account, which may write there.

    Raises:
        Refused: It may not.
    """
    chosen = namespace or me.name
    if f"{chosen}/{repo}" in me.writable:
        return f"{chosen}/{repo}"
    if chosen not in me.namespaces and chosen not in me.writable:
        raise Refused(
            f"the account {me.name} is no member of {chosen!r}; it can publish to "
            f"{', '.join(sorted(me.writable)) or 'no namespace'}"
        )
    if chosen not in me.writable:
        raise Refused(
            f"the token of {me.name} may not write to {chosen!r}; give it write access there, or "
            "publish to another namespace"
        )
    return f"{chosen}/{repo}"
