"""The `ngram` embedder: near copies by their words' letters, told apart by their identifiers.

Meant for asks of agents, which come in templates: "cancel order 4473" and "cancel order 9911"
are two asks, "Pls cancle order 4473!" is the first again. Three decisions make the difference:

- A word is the sum of its hashed letters and letter pairs, each under the word's first letter,
  so that a typo keeps most of it and another word shares next to nothing.
- Courtesy and function words weigh little; adding "please" moves a text hardly at all.
- Tokens with digits are identifiers. They are no part of the vector: the cosine of two texts
  shrinks with the identifiers they do not share (`identifiers.alike`).

Similarities are the squared cosine: one other word among ten is no copy any more.
Evidence and limits: docs/leakage.md, benchmarks/bench_leakage.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from whileai_core.traces.hashwords import words_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

WIDTH = 512
SHARPNESS = 2.0
_LIGHT = 0.1
_LETTER = 1.0
_LONGEST_WORD = 64
_LETTER_PAIR = 0.5
_WORDS_REMEMBERED = 1 << 15
_TEXTS_AT_ONCE = 1024
_WORDLESS = (" ",)  # the one word of a text of identifiers alone; no text has it otherwise

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
_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"\S+")
_CODE = re.compile(r"[a-z\d]+(?:[-._/:@,][a-z\d]+)*")


class NgramEmbedder:
    """Vectors of `WIDTH` numbers from the words of texts; one object may embed many lists."""

    def __init__(self) -> None:
        self._words: dict[str, _Word] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a text without words and identifiers is all zero."""
        import numpy as np

        vectors = np.empty((len(texts), WIDTH), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            part = texts[start : start + _TEXTS_AT_ONCE]
            vectors[start : start + len(part)] = self._sums(part)
        return vectors

    def _sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        import numpy as np

        rows: list[int] = []
        words: list[_Word] = []
        weights: list[float] = []
        for row, text in enumerate(texts):
            # Sorted: the same words give the same bits in any order.
            for word, count in sorted(Counter(_words(text)).items()):
                rows.append(row)
                words.append(self._words.get(word) or self._read(word))
                weights.append((_LIGHT if word in _LIGHT_WORDS else 1.0) * count**0.5)
        if not words:
            return np.zeros((len(texts), WIDTH))
        sizes = [len(word.places) for word in words]
        cells = np.concatenate([word.places for word in words])
        cells += np.repeat(np.array(rows, dtype=np.int64) * WIDTH, sizes)
        values = np.concatenate([word.values for word in words]) * np.repeat(weights, sizes)
        sums = np.bincount(cells, values, minlength=len(texts) * WIDTH)
        return sums.astype(np.float64, copy=False).reshape(len(texts), WIDTH)

    def _read(self, word: str) -> _Word:
        import numpy as np

        if len(self._words) >= _WORDS_REMEMBERED:
            self._words.clear()
        sums: dict[int, float] = {}
        for feature, weight in _features(word):
            digest = int.from_bytes(_digest(feature), "big")
            place = digest % WIDTH
            sums[place] = sums.get(place, 0.0) + (weight if digest >> 31 else -weight)
        values = np.array(list(sums.values()))
        length = float(np.sqrt(values @ values)) or 1.0
        found = self._words[word] = _Word(np.array(list(sums), dtype=np.int64), values / length)
        return found


class _Word(NamedTuple):
    """A word's vector, without its zeros."""

    places: NDArray[np.int64]
    values: NDArray[np.float64]


def identifiers_of(text: str) -> str:
    """Return the distinct identifiers of a text, sorted, with spaces between them."""
    text = _compatible(text)
    if not _DIGIT.search(text):
        return ""
    codes = (code for token in _TOKEN.findall(text.lower()) for code in _codes(token))
    return " ".join(sorted(set(codes)))


def _words(text: str) -> Sequence[str]:
    text = _compatible(text)
    if not _DIGIT.search(text):
        return words_of(text)
    words: list[str] = []
    for token in _TOKEN.findall(text.lower()):
        if _DIGIT.search(token):
            token = _CODE.sub(lambda code: " " if _DIGIT.search(code[0]) else code[0], token)
        words += words_of(token)
    return words or _WORDLESS


def _compatible(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _codes(token: str) -> list[str]:
    if not _DIGIT.search(token):
        return []
    return [code for code in _CODE.findall(token) if _DIGIT.search(code)]


def _features(word: str) -> list[tuple[str, float]]:
    if len(word) > _LONGEST_WORD:  # no word but data: equal or not, and its size costs nothing
        return [(f"w:{word}", _LETTER)]
    first = word[0]
    edged = f"^{word}$"
    features = [(f"l:{first}:{letter}", _LETTER) for letter in word]
    pairs = [edged[place : place + 2] for place in range(len(edged) - 1)]
    return features + [(f"p:{first}:{pair}", _LETTER_PAIR) for pair in pairs]


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
