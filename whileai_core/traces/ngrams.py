"""The `ngram` embedder: near copies by their words' letters, told apart by their identifiers.

Meant for asks of agents, which come in templates: "cancel order 4473" and "cancel order 9911"
are two asks, "Pls cancle order 4473!" is the first again. Three decisions make the difference:

- A word is the sum of its hashed letters and letter pairs, each under the word's first letter,
  so that a typo keeps most of it and another word shares next to nothing.
- Courtesy and function words weigh little; adding "please" moves a text hardly at all.
- Tokens with digits are identifiers. They do not add to the vector, they multiply it with a
  pattern of signs of their own: other identifiers, unrelated vectors.

Similarities are the squared cosine: one other word among ten is no copy any more.
Evidence and limits: docs/leakage.md, benchmarks/bench_leakage.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from whileai_core.traces.hashwords import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

WIDTH = 512  # as many bits as the longest BLAKE2b digest
SHARPNESS = 2.0
_LIGHT = 0.1
_LETTER = 1.0
_LETTER_PAIR = 0.5
_WORDS_REMEMBERED = 1 << 15

_LIGHT_WORDS = frozenset(
    {
        "a", "advance", "an", "and", "are", "as", "at", "be", "but", "by", "can", "could", "do",
        "does", "for", "from", "get", "had", "has", "have", "hello", "help", "her", "hey", "hi",
        "his", "i", "if", "in", "is", "it", "its", "just", "kindly", "let", "like", "me", "my",
        "need", "now", "of", "ok", "okay", "on", "or", "our", "please", "pls", "so", "thank",
        "thanks", "that", "the", "their", "them", "then", "there", "these", "this", "those", "to",
        "us", "want", "was", "we", "will", "with", "would", "you", "your",
    }
)  # fmt: skip
_TOKEN = re.compile(r"\S+")
_CODE = re.compile(r"[a-z\d]+(?:[-._/:@,][a-z\d]+)*")


class NgramEmbedder:
    """Vectors of `WIDTH` numbers; one object may embed many lists."""

    def __init__(self) -> None:
        self._words: dict[str, NDArray[np.float32]] = {}
        self._signs: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a text without words or identifiers is all zero."""
        import numpy as np

        vectors = np.zeros((len(texts), WIDTH), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            words, identifiers = parts_of(text)
            for word, count in Counter(words).items():
                weight = _LIGHT if word in _LIGHT_WORDS else 1.0
                vector += np.float32(weight * count**0.5) * self._word(word)
            if not words:
                vector += 1.0
            if identifiers:
                vector *= sum(self._pattern(name) for name in sorted(identifiers))
        return vectors

    def _word(self, word: str) -> NDArray[np.float32]:
        import numpy as np

        vector = self._words.get(word)
        if vector is None:
            if len(self._words) >= _WORDS_REMEMBERED:
                self._words.clear()
            vector = np.zeros(WIDTH, dtype=np.float32)
            for feature, weight in _features(word):
                digest = int.from_bytes(_digest(feature, 4), "big")
                vector[digest % WIDTH] += weight if digest >> 31 else -weight
            length = float(np.sqrt(vector @ vector))
            vector = self._words[word] = vector / np.float32(length or 1.0)
        return vector

    def _pattern(self, identifier: str) -> NDArray[np.float32]:
        import numpy as np

        pattern = self._signs.get(identifier)
        if pattern is None:
            if len(self._signs) >= _WORDS_REMEMBERED:
                self._signs.clear()
            bits = np.unpackbits(np.frombuffer(_digest(identifier, WIDTH // 8), dtype=np.uint8))
            pattern = self._signs[identifier] = bits.astype(np.float32) * 2 - 1
        return pattern


def parts_of(text: str) -> tuple[list[str], set[str]]:
    """Return the words of a text and its identifiers: codes with a digit in them."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    words: list[str] = []
    identifiers: set[str] = set()
    for token in _TOKEN.findall(text.lower()):
        if _has_digit(token):
            identifiers.update(filter(_has_digit, _CODE.findall(token)))
            token = _CODE.sub(lambda code: " " if _has_digit(code[0]) else code[0], token)
        words += words_of(token)
    return words, identifiers


def _has_digit(text: str) -> bool:
    return any(map(str.isdecimal, text))


def _features(word: str) -> list[tuple[str, float]]:
    first = word[0]
    edged = f"^{word}$"
    features = [(f"l:{first}:{letter}", _LETTER) for letter in word]
    pairs = [edged[place : place + 2] for place in range(len(edged) - 1)]
    return features + [(f"p:{first}:{pair}", _LETTER_PAIR) for pair in pairs]


def _digest(text: str, size: int) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).digest()
