"""All detectors over all texts of a value, in one pass over their concatenation.

A row has dozens of short texts; joining them costs less than calling each detector on each.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

from whileai_core.redaction import addresses, credentials, numbers
from whileai_core.redaction.fields import Field
from whileai_core.redaction.hits import Claims, Hit, Shape
from whileai_core.redaction.surrogates import SURROGATE

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from whileai_core.redaction.tree import Leaf, Tree

KINDS = ("secret", "email", "phone", "card", "iban", "national-id", "ip")

# No pattern matches across it: neither `.` (newline) nor `\s` (NUL) does.
_SEPARATOR = "\n\x00\n"
_NUMBERS = frozenset({"card", "phone", "national-id"})
_SILENT: dict[Field | None, frozenset[str]] = {
    Field.IDENTIFIER: _NUMBERS,
    Field.VERSION: _NUMBERS | {"ip"},
}
_SHORTEST_LEARNED = 6
_NOT_A_WORD = re.compile(r"[^A-Za-z]")


def require_libraries(kinds: Collection[str]) -> None:
    """Load what the kinds need now, not in the middle of a night.

    Raises:
        MissingExtra: A library of the extra `redaction` is not installed.
    """
    if "secret" in kinds:
        credentials.provider_patterns()
    if "phone" in kinds:
        numbers.phone_library()


class Detection:
    """The hits in the texts of a tree.

    What a field's name gives away (a password, an account number) is then looked for in the
    other texts too, so that the prose agrees with the arguments.

    Args:
        tree: The value.
        kinds: What to look for.
        changed: Where given, only these texts are looked at: position in the tree and text.
    """

    def __init__(
        self, tree: Tree, kinds: Collection[str], changed: dict[int, str] | None = None
    ) -> None:
        self._tree = tree
        self._indexes: Sequence[int] = range(len(tree.texts)) if changed is None else [*changed]
        self._texts = tree.texts if changed is None else [*changed.values()]
        gap = len(_SEPARATOR)
        self._starts = [*accumulate([len(text) + gap for text in self._texts], initial=0)]
        self._text = _SEPARATOR.join(self._texts)
        self._claims = Claims()
        self._find(kinds)

    def hits(self) -> dict[int, list[Hit]]:
        """Return the hits by position of the text in the tree, in order, offsets within it."""
        found: defaultdict[int, list[Hit]] = defaultdict(list)
        for hit in sorted(self._claims.hits):
            place = self._place(hit.start)
            start = self._starts[place]
            moved = hit._replace(start=hit.start - start, end=hit.end - start)
            found[self._indexes[place]].append(moved)
        return found

    def _find(self, kinds: Collection[str]) -> None:
        text = self._text
        claims = self._claims
        for match in SURROGATE.finditer(text):
            claims.reserve(*match.span())
        shape = Shape(text)
        if "secret" in kinds:
            self._add(credentials.find(text, shape))
        before = len(claims.hits)
        self._add(hit for hit in self._field_hits() if hit.kind in kinds)
        if "secret" in kinds:
            self._add(credentials.find_key_values(text))
        self._add(self._learned(claims.hits[before:]))
        for kind, find in _FINDERS:
            if kind in kinds:
                self._add(hit for hit in find(text, shape) if not self._is_identifier(hit))

    def _add(self, hits: Iterable[Hit]) -> None:
        self._claims.add(hit for hit in hits if self._is_inside(hit))

    def _is_inside(self, hit: Hit) -> bool:
        """Tell whether a hit lies within one text; of a number, only the whole is one."""
        place = self._place(hit.start)
        start = self._starts[place]
        end = start + len(self._texts[place])
        whole = (hit.start, hit.end) == (start, end)
        return whole or (hit.end <= end and not self._tree.leaf(self._indexes[place]).is_number)

    def _is_identifier(self, hit: Hit) -> bool:
        """Tell whether a field says that this is an id: there or, by its value, elsewhere."""
        field = self._tree.fields.get(self._indexes[self._place(hit.start)])
        if hit.kind in _SILENT.get(field, ()):
            return True
        return hit.kind in _NUMBERS and self._text[hit.start : hit.end] in self._identifiers

    @cached_property
    def _identifiers(self) -> frozenset[str]:
        tree = self._tree
        return frozenset(
            tree.texts[index] for index, field in tree.fields.items() if field in _SILENT
        )

    def _place(self, position: int) -> int:
        return bisect_right(self._starts, position) - 1

    def _field_hits(self) -> Iterator[Hit]:
        fields = self._tree.fields
        places = fields if self._texts is self._tree.texts else range(len(self._texts))
        for place in places:
            index = self._indexes[place]
            if index in fields and fields[index].tells:
                leaf = self._tree.leaf(index)._replace(text=self._texts[place])
                hit = _field_hit(leaf, self._starts[place])
                if hit is not None:
                    yield hit

    def _learned(self, sources: list[Hit]) -> Iterator[Hit]:
        values = {self._text[hit.start : hit.end]: hit for hit in sources}
        for literal, hit in values.items():
            if len(literal) < _SHORTEST_LEARNED or not _NOT_A_WORD.search(literal):
                continue
            if self._text.count(literal) > 1:
                pattern = re.compile(rf"(?<![^\W_]){re.escape(literal)}(?![^\W_])")
                for match in pattern.finditer(self._text):
                    yield hit._replace(start=match.start(), end=match.end())


_FINDERS = (
    ("email", addresses.find_emails),
    ("iban", numbers.find_ibans),
    ("card", numbers.find_cards),
    ("national-id", numbers.find_national_ids),
    ("ip", addresses.find_ips),
    ("phone", numbers.find_phones),
)


def _field_hit(leaf: Leaf, start: int) -> Hit | None:
    if leaf.field is Field.PHONE:
        return numbers.field_phone(start, leaf.text, is_number=leaf.is_number)
    if leaf.field is Field.NUMBER or (leaf.field is Field.SECRET and leaf.is_number):
        return numbers.field_number(start, leaf.text, is_number=leaf.is_number)
    if leaf.field is Field.SECRET and credentials.is_field_secret(leaf.key, leaf.text):
        return Hit(start, start + len(leaf.text), "secret", leaf.text, "credential")
    return None
