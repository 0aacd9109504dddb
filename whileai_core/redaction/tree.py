"""A JSON value as a flat list of its texts, and a copy of it with some of them replaced.

Strings that hold a JSON object or array are opened: their inner texts stand in the list, and a
replacement changes only the tokens concerned, so that spelling, numbers and order stay.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core import jsonio
from whileai_core.redaction.fields import Field, Name, name

if TYPE_CHECKING:
    from collections.abc import Iterable

# Shorter texts hold nothing a detector could find without the help of their key.
_SHORTEST = 6
_TOKEN = 15
_SMALLEST_NUMBER = 10**13  # the shortest card has 14 digits
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"(?P<colon>\s*:)?|-?\d[\d.eE+-]*|[\[\]{}]', re.DOTALL)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SHOWN_KEY = re.compile(r"[A-Za-z_][A-Za-z_.-]{0,63}[0-9]{0,3}")
_OPENERS = frozenset("{[ \n\t")
_PLAIN = Field.PLAIN
_NAMELESS = Name(_PLAIN, may_hold_data=False)


class _Role(Enum):
    STRING = "string"
    NUMBER = "number"
    KEY = "key"


# Container, key or index in it, node of the container, role, document that holds the container.
_Place: TypeAlias = "tuple[Any, Any, int, _Role, Document | None]"


class Document:
    """A string that holds JSON: where it stands and which of its tokens change.

    A token is known by its text and the key it stands under, for `{"password": "password"}`.
    """

    def __init__(self, text: str, place: _Place, root: int) -> None:
        self.text = text
        self.place = place
        self.root = root
        self.keys: dict[str, str] = {}
        self.values: dict[tuple[str | None, str, bool], str] = {}
        self._above: list[str | None] = [None]

    def rewritten(self) -> str:
        """Return the text with its tokens changed, everything else as it was."""
        return _JSON_TOKEN.sub(self._piece, self.text)

    def _piece(self, match: re.Match[str]) -> str:
        piece = match[0]
        if piece in "[{":
            self._above.append(self._above[-1] if piece == "[" else None)
        elif piece in "]}":
            self._above.pop()
        elif piece[0] == '"':
            return self._string(piece, match["colon"])
        else:
            return self.values.get((self._above[-1], piece, True), piece)
        return piece

    def _string(self, piece: str, colon: str | None) -> str:
        quoted = piece[: len(piece) - len(colon or "")]
        text = quoted[1:-1] if "\\" not in quoted else str(jsonio.loads(quoted))
        if colon:
            self._above[-1] = text
            new = self.keys.get(text)
        else:
            new = self.values.get((self._above[-1], text, False))
        if new is None:
            return piece
        written = jsonio.canonical(new).decode()
        return (_NOT_ASCII.sub(_escaped, written) if quoted.isascii() else written) + (colon or "")


class Leaf(NamedTuple):
    """One text of the value: a string, a key, or a whole number written in digits."""

    text: str
    field: Field
    holder: Any
    key: Any
    node: int
    role: _Role
    document: Document | None

    @property
    def is_number(self) -> bool:
        """Whether the value is a number, which cannot start with a zero."""
        return self.role is _Role.NUMBER


class Tree:
    """A deep copy of a JSON value and the list of its texts.

    The walk keeps its own stack, so no depth of nesting is too much.

    Attributes:
        texts: The texts; `leaf` says more about each.
        fields: Position and field of those texts whose key says what they are.
    """

    def __init__(self, value: object) -> None:
        self._root: list[Any] = [value]
        self._documents: list[Document] = []
        self._nodes: list[tuple[int, Any]] = []  # per container: (node above it, its key there)
        self._stack: list[tuple[Any, int, Field, Document | None]] = []
        self._places: list[_Place] = []
        self.texts: list[str] = []
        self.fields: dict[int, Field] = {}
        self._push(self._root, -1, None, _PLAIN, None)
        while self._stack:
            self._open(*self._stack.pop())

    def leaf(self, index: int) -> Leaf:
        """Return a text with all that is known about its place."""
        field = self.fields.get(index, _PLAIN)
        return Leaf(self.texts[index], field, *self._places[index])

    def result(self) -> Any:
        """Return the copy."""
        return self._root[0]

    def path(self, leaf: Leaf) -> str:
        """Say where a leaf stands, like `steps[0].arguments.email`; unusual keys show as `*`."""
        parts = [".<key>" if leaf.role is _Role.KEY else _part(leaf.key)]
        node = leaf.node
        while node > 0:
            node, key = self._nodes[node]
            parts.append(_part(key))
        return "".join(reversed(parts[:-1])).lstrip(".")

    def replace(self, changes: dict[int, str]) -> None:
        """Put new texts, given by their position in `texts`, into the copy."""
        renames: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
        for index, new in changes.items():
            holder, key, _node, role, document = self._places[index]
            if document is not None:
                self._note(document, self.texts[index], new, self._places[index])
            elif role is _Role.KEY:
                renames.setdefault(id(holder), (holder, {}))[1][key] = new
            else:
                holder[key] = int(new) if role is _Role.NUMBER else new
        for document in reversed(self._documents):  # the inner ones stand behind the outer ones
            if document.keys or document.values:
                new = document.rewritten()
                holder, key, _, _, outer = document.place
                if outer is not None:
                    self._note(outer, document.text, new, document.place)
                else:
                    holder[key] = new
        for holder, names in renames.values():
            _rename(holder, names)

    def _note(self, document: Document, text: str, new: str, place: _Place) -> None:
        """Tell a document which of its tokens changes."""
        _, key, node, role, _ = place
        if role is _Role.KEY:
            document.keys[text] = new
            return
        while isinstance(key, int) and node != document.root:  # lists stand under a key
            node, key = self._nodes[node]
        above = None if isinstance(key, int) else key
        document.values[above, text, role is _Role.NUMBER] = new

    def _push(
        self, container: Any, above: int, key: Any, field: Field, document: Document | None
    ) -> None:
        self._stack.append((container, len(self._nodes), field, document))
        self._nodes.append((above, key))

    def _open(self, container: Any, node: int, field: Field, document: Document | None) -> None:
        """Copy what the container holds and list its texts; by far the hottest loop here."""
        is_dict = type(container) is dict
        pairs: Iterable[tuple[Any, Any]] = container.items() if is_dict else enumerate(container)
        for key, item in pairs:
            if is_dict:
                field, may_hold_data = name(key) if type(key) is str else _NAMELESS
                if may_hold_data:
                    self._list(key, _PLAIN, (container, key, node, _Role.KEY, document))
            kind = type(item)
            if kind is str:
                # A short word alone holds nothing, unless its key says so.
                size = len(item)
                if field.tells or size >= _TOKEN or (size >= _SHORTEST and not item.isalpha()):
                    place = (container, key, node, _Role.STRING, document)
                    if item[:1] not in _OPENERS or not self._open_document(item, field, place):
                        self._list(item, field, place)
            elif kind is dict or kind is list or kind is tuple:
                copy = container[key] = dict(item) if kind is dict else list(item)
                self._stack.append((copy, len(self._nodes), field, document))
                self._nodes.append((node, key))
            elif kind is int and (item >= _SMALLEST_NUMBER or (field.tells and item > 0)):
                place = (container, key, node, _Role.NUMBER, document)
                self._list(str(item), field, place)

    def _list(self, text: str, field: Field, place: _Place) -> None:
        if field is not _PLAIN:
            self.fields[len(self.texts)] = field
        self.texts.append(text)
        self._places.append(place)

    def _open_document(self, text: str, field: Field, place: _Place) -> bool:
        stripped = text.strip()
        if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
            return False
        try:
            value = jsonio.loads(stripped)
        except ValueError:
            return False
        document = Document(text, place, len(self._nodes))
        self._documents.append(document)
        _, key, node, _, _ = place
        self._push(value, node, key, field, document)
        return True


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _part(key: object) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    return f".{key}" if isinstance(key, str) and _SHOWN_KEY.fullmatch(key) else ".*"


def _rename(holder: dict[str, Any], names: dict[str, str]) -> None:
    """Rename keys in place, in order; two that would fall together stay two."""
    items = list(holder.items())
    holder.clear()
    for key, value in items:
        new = names.get(key, key)
        while new in holder:
            new += "~"
        holder[new] = value
