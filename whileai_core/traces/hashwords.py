"""The hash embedder `hash-word-bigram-v2`: words and word pairs in 256 buckets.

Vectors are left as counts. They are small whole numbers, so that products of them are exact.
Letters outside the Latin script, for which the peer has no tokens, are words here too: whole
runs where the script puts spaces between words, single letters where it does not.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

BUCKETS = 256
_NUMBER = "<num>"
_TEXTS_AT_ONCE = 8192
_PAIRS_REMEMBERED = 1 << 20

_ASCII_WORDS = re.compile(r"[a-z]+|\d+")
# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han.
_UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_UNSPACED += r"\U00020000-\U0003ffff"
# Latin letters beyond a-z separate words, as they always did. The Indic blocks are named
# because their vowel signs are no word characters to `re`.
_OTHER_LETTERS = rf"(?:[\u0900-\u0dff]|(?![{_UNSPACED}\u00aa-\u024f\u1e00-\u1eff])[^\W\d_a-zA-Z])+"
_ALL_WORDS = re.compile(rf"[a-z]+|\d+|[{_UNSPACED}]|{_OTHER_LETTERS}")


def words_of(text: str) -> list[str]:
    """Return the words of a text in order; runs of digits stay as they are."""
    if text.isascii():
        return _ASCII_WORDS.findall(text.lower())
    return _ALL_WORDS.findall(unicodedata.normalize("NFC", text).lower())


class HashEmbedder:
    """Counts of hashed words and word pairs; one object may embed many lists."""

    def __init__(self) -> None:
        self._words = _Vocabulary()
        self._pairs: dict[int, int] = {}

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row of `BUCKETS` counts per text; a text without words is all zero."""
        import numpy as np

        counts = np.zeros((len(texts), BUCKETS), dtype=np.float32)
        for start in range(0, len(texts), _TEXTS_AT_ONCE):
            part = texts[start : start + _TEXTS_AT_ONCE]
            counts[start : start + len(part)] = self._counts(part)
        return counts

    def _counts(self, texts: Sequence[str]) -> NDArray[np.int64]:
        import numpy as np

        number_of = self._words.__getitem__
        numbers: list[int] = []
        lengths = []
        for text in texts:
            words = words_of(text)
            lengths.append(len(words))
            numbers.extend(map(number_of, words))
        ids = np.array(numbers, dtype=np.int64)
        rows = np.repeat(np.arange(len(texts)), lengths)
        cells = rows * BUCKETS + np.array(self._words.buckets, dtype=np.int64)[ids]
        neighbours = rows[:-1] == rows[1:]
        pairs = (ids[:-1] << 32 | ids[1:])[neighbours]
        distinct, places = np.unique(pairs, return_inverse=True)
        pair_cells = rows[:-1][neighbours] * BUCKETS + self._pair_buckets(distinct)[places]
        size = len(texts) * BUCKETS
        total = np.bincount(cells, minlength=size) + np.bincount(pair_cells, minlength=size)
        return total.reshape(len(texts), BUCKETS)

    def _pair_buckets(self, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
        import numpy as np

        if len(self._pairs) > _PAIRS_REMEMBERED:
            self._pairs.clear()
        known = self._pairs
        texts = self._words.texts
        buckets = []
        for pair in pairs.tolist():
            bucket = known.get(pair)
            if bucket is None:
                left, right = texts[pair >> 32], texts[pair & 0xFFFFFFFF]
                bucket = known[pair] = _bucket(f"b:{left}>{right}")
            buckets.append(bucket)
        return np.array(buckets, dtype=np.int64)


class _Vocabulary(dict[str, int]):
    """Numbers words on first sight; every run of digits is the same word."""

    def __init__(self) -> None:
        super().__init__({_NUMBER: 0})
        self.texts = [_NUMBER]
        self.buckets = [_bucket(f"w:{_NUMBER}")]

    def __missing__(self, word: str) -> int:
        if word[0].isdigit():
            return 0
        number = self[word] = len(self.texts)
        self.texts.append(word)
        self.buckets.append(_bucket(f"w:{word}"))
        return number


def _bucket(token: str) -> int:
    # The big-endian number modulo 256 is its last byte.
    return blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()[-1]
