"""A JSON value as a flat list of its texts, and a copy of it with some of them replaced.

Strings that hold a JSON object or array are opened: their inner texts stand in the list, and a
replacement changes only the tokens concerned, so that spelling, numbers and order stay.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whileai_core import jsonio
from whileai_core.redaction.fields import Field, name

# Shorter texts hold nothing a detector could find without the help of their key.
_SHORTEST = 6
_SMALLEST_NUMBER = 1_000_000
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*', re.DOTALL)
_SHOWN_KEY = re.compile(r"[A-Za-z_][A-Za-z_.-]{0,63}[0-9]{0,3}")
_KEYED = frozenset({Field.SECRET, Field.PHONE, Field.NUMBER})


class Document:
    """A string that holds JSON: where it stands and which of its tokens change."""

    def __init__(self, text: str, holder: Any, key: Any, outer: Document | None) -> None:
        self.text = text
        self.holder = holder
        self.key = key
        self.outer = outer
        self.strings: dict[str, str] = {}
        self.numbers: dict[str, str] = {}

    def rewritten(self) -> str:
        """Return the text with its tokens changed, everything else as it was."""
        return _JSON_TOKEN.sub(self._token, self.text)

    def _token(self, match: re.Match[str]) -> str:
        token = match[0]
        if token[0] != '"':
            return self.numbers.get(token, token)
        inner = token[1:-1]
        value = inner if "\\" not in inner else str(jsonio.loads(token))
        new = self.strings.get(value)
        return token if new is None else jsonio.canonical(new).decode()


class Leaf(NamedTuple):
    """One text of the value: a string, a key, or a whole number written in digits."""

    text: str
    field: Field
    holder: Any
    key: Any
    node: int
    is_key: bool
    is_number: bool
    document: Document | None


class Tree:
    """A deep copy of a JSON value and the list of its texts.

    The walk keeps its own stack, so no depth of nesting is too much.
    """

    def __init__(self, value: object) -> None:
        self._root: list[Any] = [value]
        self._documents: list[Document] = []
        self._nodes: list[tuple[int, Any]] = []  # per container: (node above it, its key there)
        self._stack: list[tuple[Any, int, Field, Document | None]] = []
        self.leaves: list[Leaf] = []
        self._push(self._root, -1, None, Field.PLAIN, None)
        while self._stack:
            self._open(*self._stack.pop())

    def result(self) -> Any:
        """Return the copy."""
        return self._root[0]

    def path(self, leaf: Leaf) -> str:
        """Say where a leaf stands, like `steps[0].arguments.email`; unusual keys show as `*`."""
        parts = [".<key>" if leaf.is_key else _part(leaf.key)]
        node = leaf.node
        while node > 0:
            node, key = self._nodes[node]
            parts.append(_part(key))
        return "".join(reversed(parts[:-1])).lstrip(".")

    def replace(self, changes: list[tuple[Leaf, str]]) -> None:
        """Put new texts into the copy."""
        renames: dict[int, tuple[dict[str, Any], dict[str, str]]] = {}
        for leaf, new in changes:
            if leaf.document is not None:
                table = leaf.document.numbers if leaf.is_number else leaf.document.strings
                table[leaf.text] = new
            elif leaf.is_key:
                renames.setdefault(id(leaf.holder), (leaf.holder, {}))[1][leaf.text] = new
            else:
                leaf.holder[leaf.key] = int(new) if leaf.is_number else new
        for document in reversed(self._documents):  # the inner ones stand behind the outer ones
            if document.strings or document.numbers:
                new = document.rewritten()
                if document.outer is not None:
                    document.outer.strings[document.text] = new
                else:
                    document.holder[document.key] = new
        for holder, names in renames.values():
            _rename(holder, names)

    def _push(
        self, container: Any, above: int, key: Any, field: Field, document: Document | None
    ) -> None:
        self._nodes.append((above, key))
        self._stack.append((container, len(self._nodes) - 1, field, document))

    def _open(self, container: Any, node: int, field: Field, document: Document | None) -> None:
        if not isinstance(container, dict):
            for index, item in enumerate(container):
                self._add(item, field, container, index, node, document)
            return
        for key, item in container.items():
            if not isinstance(key, str):
                self._add(item, Field.PLAIN, container, key, node, document)
                continue
            what = name(key)
            if what.may_hold_data:
                leaf = Leaf(key, Field.PLAIN, container, key, node, True, False, document)
                self.leaves.append(leaf)
            self._add(item, what.field, container, key, node, document)

    def _add(
        self, item: Any, field: Field, holder: Any, key: Any, node: int, document: Document | None
    ) -> None:
        if isinstance(item, str):
            if len(item) < _SHORTEST and field not in _KEYED:
                return
            if item[:1] in "{[ \n\t" and self._open_document(
                item, field, holder, key, node, document
            ):
                return
            self.leaves.append(Leaf(item, field, holder, key, node, False, False, document))
        elif isinstance(item, dict | list | tuple):
            copy = dict(item) if isinstance(item, dict) else list(item)
            holder[key] = copy
            self._push(copy, node, key, field, document)
        elif type(item) is int and (item >= _SMALLEST_NUMBER or (field in _KEYED and item > 0)):
            self.leaves.append(Leaf(str(item), field, holder, key, node, False, True, document))

    def _open_document(
        self, text: str, field: Field, holder: Any, key: Any, node: int, outer: Document | None
    ) -> bool:
        stripped = text.strip()
        if not stripped or stripped[0] + stripped[-1] not in ("{}", "[]"):
            return False
        try:
            value = jsonio.loads(stripped)
        except ValueError:
            return False
        document = Document(text, holder, key, outer)
        self._documents.append(document)
        self._push(value, node, key, field, document)
        return True


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
