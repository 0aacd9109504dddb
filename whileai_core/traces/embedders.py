"""Embedders by name, function or object, brought to one shape: texts to a matrix."""

from __future__ import annotations

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from whileai_core.errors import InputError, MissingExtra, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    Matrix: TypeAlias = NDArray[np.float32] | NDArray[np.float64]

_log = logging.getLogger(__name__)

Embed: TypeAlias = "Callable[[Sequence[str]], Matrix]"


class Embedding(NamedTuple):
    """How texts are compared.

    Attributes:
        embed: Texts to a matrix with one row per text.
        sharpness: Similarity is the cosine to this power.
        identifiers: Gives a text's identifiers, as `identifiers.alike` reads them: what two
            texts share of them multiplies their cosine. None when words are all there is.
    """

    embed: Embed
    sharpness: float = 1.0
    identifiers: Callable[[str], str] | None = None

    def cosine(self, similarity: float) -> float:
        """Return the cosine at which a similarity is reached."""
        return similarity ** (1 / self.sharpness) if similarity > 0 else similarity


TEMPLATE_AWARE = "ngram"  # tells siblings of a template from copies; what works unattended uses it
_LARGEST = 1e60
_LOCAL = ("bge", "sentence-transformers")
_REMOTE = ("ollama", "openai")
_DEFAULT_LOCAL_MODEL = "BAAI/bge-small-en-v1.5"


def embedding(embedder: object) -> Embedding:
    """Return how texts are compared by an embedder given by name, function or object.

    Args:
        embedder: `"hash"` (None too) or `"ngram"`, both built in; `"bge"` or
            `"sentence-transformers"`, with an optional `:<model>`; a function from texts to
            vectors; an object with `embed(texts)`.

    Raises:
        InputError: The name is unknown (a `ValueError`).
        SettingsError: The name stands for a service that is not called from here.
        MissingExtra: The local model's library is not installed.
        TypeError: It is none of these.
    """
    if embedder is None:
        embedder = "hash"
    if isinstance(embedder, str):
        return _named(embedder)
    embed = getattr(embedder, "embed", embedder)
    if not callable(embed):
        raise TypeError(
            f"embedder is {type(embedder).__name__}; give a name, a function from texts to "
            "vectors, or an object with embed(texts)"
        )
    return Embedding(_checked(embed))


def _named(name: str) -> Embedding:
    kind, _, model = name.partition(":")
    if name == TEMPLATE_AWARE:
        from whileai_core.traces.ngrams import SHARPNESS, NgramEmbedder, identifiers_of

        return Embedding(NgramEmbedder().embed, SHARPNESS, identifiers_of)
    if kind == "modal":
        _log.warning("embedder %r is a service of the peer; the hash embedder is used", kind)
    elif kind in _LOCAL:
        return Embedding(_checked(_local_model(model or _DEFAULT_LOCAL_MODEL)))
    elif kind in _REMOTE:
        raise SettingsError(
            f"embedder {kind!r} is not called from here; pass a function from texts to vectors "
            "that asks it"
        )
    elif name != "hash":
        raise InputError(
            f"unknown embedder {name!r}; known: hash, ngram, bge, sentence-transformers, "
            "a function, or an object with embed(texts)"
        )
    from whileai_core.traces.hashwords import HashEmbedder

    return Embedding(HashEmbedder().embed)


def _local_model(model: str) -> Callable[[list[str]], Any]:
    try:
        library = import_module("sentence_transformers")
    except ImportError:
        raise MissingExtra(
            "local embedding models need the package sentence-transformers: "
            "pip install sentence-transformers"
        ) from None
    encode: Callable[[list[str]], Any] = library.SentenceTransformer(model).encode
    return encode


def _checked(embed: Callable[[list[str]], Any]) -> Embed:
    def checked(texts: Sequence[str]) -> Matrix:
        import numpy as np

        try:
            vectors = np.array(_listed(embed(list(texts))), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"the embedder's vectors are no table of numbers: {error}") from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise InputError(
                f"the embedder returned vectors of shape {vectors.shape} for {len(texts)} texts; "
                "expected one vector per text"
            )
        if not np.isfinite(vectors).all():
            raise InputError("the embedder returned a vector with NaN or infinity")
        _tame(vectors)
        return vectors

    return checked


def _tame(vectors: NDArray[np.float64]) -> None:
    """Scale, in place, the vectors whose squares would leave the range of floats."""
    import numpy as np

    largest = np.abs(vectors).max(axis=1, initial=0.0)
    wild = (largest > _LARGEST) | ((largest < 1 / _LARGEST) & (largest > 0))
    vectors[wild] /= largest[wild, None]


def _listed(vectors: Any) -> Any:
    """Take an iterator of vectors as a list; arrays and lists stay as they are."""
    return list(vectors) if hasattr(vectors, "__next__") else vectors
