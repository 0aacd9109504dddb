"""Redaction: secrets and personal data in rows become keyed stand-ins before anything is stored.

>>> redactor = Redactor(b"k" * 32)                                            # doctest: +SKIP
>>> redactor.text("write to jane@corp.com")                                   # doctest: +SKIP
'write to user-27fc30db4d@redacted.example'

See `docs/redaction.md` for what is found, what is left alone and what the stand-ins look like.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from whileai_core.errors import SettingsError
from whileai_core.redaction.detection import KINDS, Detection, require_libraries
from whileai_core.redaction.keyfile import read_or_create
from whileai_core.redaction.surrogates import Surrogates
from whileai_core.redaction.tree import Leaf, Tree

if TYPE_CHECKING:
    from collections.abc import Collection

    from whileai_core.redaction.hits import Hit
    from whileai_core.rows import Row
    from whileai_core.settings import Settings

__all__ = ["KINDS", "Finding", "Redactor", "scan"]

_SHORTEST_KEY = 16
# A replacement can bare something that lay across it; changed texts are looked at again.
_ROUNDS = 5


class Finding(NamedTuple):
    """Something `scan` found; the value itself is not repeated.

    Attributes:
        kind: One of `KINDS`.
        path: Where it stands, like `steps[0].arguments.email`; keys that may hold data are `*`.
    """

    kind: str
    path: str


class Redactor:
    """Replaces secrets and personal data; the same value maps alike wherever it stands.

    Attributes:
        fingerprint: Tells redactors of different keys apart without giving the key away.
        counts: Replacements so far, by kind. Not meant to be shared between threads.
    """

    def __init__(self, key: bytes, kinds: Collection[str] | None = None) -> None:
        """Make a redactor.

        Args:
            key: At least 16 secret bytes; another key gives other stand-ins.
            kinds: The kinds to replace, of `KINDS`; all when left out.

        Raises:
            SettingsError: The key is too short or a kind is unknown.
            MissingExtra: The extra `redaction` is not installed.
        """
        if len(key) < _SHORTEST_KEY:
            raise SettingsError(f"a redaction key needs at least {_SHORTEST_KEY} bytes")
        unknown = sorted(set(kinds or ()) - set(KINDS))
        if unknown:
            raise SettingsError(f"unknown kinds {', '.join(unknown)}; known: {', '.join(KINDS)}")
        self.fingerprint = hashlib.sha256(b"whileai-redaction-key" + key).hexdigest()[:16]
        self._surrogates = Surrogates(key)
        self._kinds = frozenset(KINDS if kinds is None else kinds)
        self.counts: Counter[str] = Counter()
        require_libraries(self._kinds)

    @classmethod
    def from_home(cls, settings: Settings) -> Redactor:
        """Make a redactor with the key kept in `<home>/redaction.key`, born on first use.

        Raises:
            StoreError: The key file cannot be read or written.
            MissingExtra: The extra `redaction` is not installed.
        """
        return cls(read_or_create(settings.home / "redaction.key"))

    def row(self, row: Row) -> Row:
        """Return a redacted deep copy of a row; the input is never changed."""
        redacted: Row = self._redact(row)
        return redacted

    def text(self, text: str) -> str:
        """Return a text redacted; JSON text is redacted inside and stays JSON."""
        return str(self._redact(text))

    def _redact(self, value: object) -> Any:
        tree = Tree(value)
        changed: dict[int, str] = {}
        hits = Detection(tree, self._kinds).hits()
        for _ in range(_ROUNDS):
            latest = {
                index: self._replaced(
                    changed.get(index, tree.texts[index]), found, tree.leaf(index)
                )
                for index, found in hits.items()
            }
            changed |= latest
            hits = Detection(tree, self._kinds, latest).hits() if latest else {}
        tree.replace(changed)
        return tree.result()

    def _replaced(self, changed: str | None, hits: list[Hit], leaf: Leaf) -> str:
        text = leaf.text if changed is None else changed
        parts = []
        position = 0
        for hit in hits:
            surrogate = self._surrogate(hit, text[hit.start : hit.end], leaf)
            parts += [text[position : hit.start], surrogate]
            position = hit.end
        self.counts.update(hit.kind for hit in hits)
        return "".join([*parts, text[position:]])

    def _surrogate(self, hit: Hit, original: str, leaf: Leaf) -> str:
        make = self._surrogates
        match hit.kind:
            case "secret" if not leaf.is_number:
                return make.secret(hit.form, hit.value)
            case "email":
                return make.email(original)
            case "card":
                return make.card(original)
            case "iban":
                return make.iban(original)
            case "ip":
                return make.address(original)
            case "phone":
                return make.phone(original, hit.country_digits, is_number=leaf.is_number)
            case _:
                return make.number(original, is_number=leaf.is_number)


def scan(value: object) -> list[Finding]:
    """Name every secret and personal datum in a JSON value; redacted values give an empty list.

    Raises:
        MissingExtra: The extra `redaction` is not installed.
    """
    require_libraries(KINDS)
    tree = Tree(value)
    findings = [
        Finding(hit.kind, tree.path(tree.leaf(index)))
        for index, hits in Detection(tree, KINDS).hits().items()
        for hit in hits
    ]
    return sorted(findings)
