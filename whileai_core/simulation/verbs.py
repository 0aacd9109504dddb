"""What a tool does, read off its name."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_a-zA-Z]+")


class Verb(StrEnum):
    """The four ways in which a tool touches a record."""

    CREATE = "create"
    READ = "read"
    UPDATE = "update"
    DELETE = "delete"


_CREATE = frozenset({
    "create", "generate", "write", "add", "upload", "insert", "make", "post", "new", "open",
    "register", "submit", "book", "reserve", "place", "schedule", "draft",
})  # fmt: skip
_READ = frozenset({
    "get", "read", "list", "inspect", "search", "fetch", "find", "show", "describe", "cat",
    "view", "lookup", "look", "check", "query", "retrieve", "track", "verify", "count", "browse",
    "load", "status", "info", "details", "history", "compare", "summarize", "calculate",
})  # fmt: skip
_DELETE = frozenset({"delete", "remove", "drop", "destroy", "purge", "erase"})
_MANY = frozenset({"list", "search", "find", "query", "browse"})

# Verb -> the status a record has after it.
_FINAL_STATUS = {
    "cancel": "cancelled", "refund": "refunded", "close": "closed", "approve": "approved",
    "reject": "rejected", "ship": "shipped", "pay": "paid", "charge": "charged",
    "archive": "archived", "confirm": "confirmed", "complete": "completed", "finish": "completed",
    "pause": "paused", "resume": "active", "activate": "active", "deactivate": "inactive",
    "suspend": "suspended", "escalate": "escalated", "assign": "assigned",
    "reschedule": "rescheduled", "return": "returned", "renew": "renewed", "lock": "locked",
    "unlock": "unlocked", "send": "sent", "merge": "merged", "resolve": "resolved",
    "reset": "reset", "revoke": "revoked", "upgrade": "upgraded", "downgrade": "downgraded",
    "transfer": "transferred", "deliver": "delivered", "publish": "published",
    "enable": "enabled", "disable": "disabled", "block": "blocked", "replace": "replaced",
    "exchange": "exchanged", "start": "started", "stop": "stopped", "void": "voided",
}  # fmt: skip

_DESTRUCTIVE = frozenset({
    "delete", "remove", "drop", "destroy", "purge", "erase", "pay", "charge", "refund",
    "transfer", "send", "cancel", "close", "revoke", "reset", "void", "terminate", "disable",
})  # fmt: skip


@lru_cache(maxsize=4096)
def words_of_name(name: str) -> tuple[str, ...]:
    """Return the lower-cased words of a tool or parameter name, snake or camel case."""
    return tuple(words_of_text(name))


def words_of_text(text: str) -> list[str]:
    """Return the lower-cased words of a text, split as names are."""
    return [word.lower() for word in _WORDS.findall(text)]


def verb_of(name: str) -> Verb:
    """Return what a tool does; one whose name says nothing changes a record."""
    words = words_of_name(name)
    first, last = (words[0], words[-1]) if words else ("", "")
    if first in _CREATE:
        return Verb.CREATE
    if first in _DELETE:
        return Verb.DELETE
    if first in _READ or (last in _READ and first not in _FINAL_STATUS):
        return Verb.READ
    return Verb.UPDATE


def is_verb(word: str) -> bool:
    """Tell whether a word is known to say what a tool does."""
    return word in _CREATE | _READ | _DELETE | _DESTRUCTIVE or word in _FINAL_STATUS


def lists_many(name: str) -> bool:
    """Tell whether a reading tool returns several records."""
    words = words_of_name(name)
    return verb_of(name) is Verb.READ and bool(_MANY.intersection(words))


def computes(name: str) -> bool:
    """Tell whether a tool evaluates expressions."""
    return any(word.startswith("calc") or word == "evaluate" for word in words_of_name(name))


def status_after(name: str) -> str | None:
    """Return the status a record has once the tool has changed it, when its name says so."""
    return next(
        (_FINAL_STATUS[word] for word in words_of_name(name) if word in _FINAL_STATUS), None
    )


def is_destructive(name: str) -> bool:
    """Tell whether what a tool does is hard to take back."""
    return bool(_DESTRUCTIVE.intersection(words_of_name(name)))
