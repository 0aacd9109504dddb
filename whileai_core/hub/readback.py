"""Rows back from a published split, exactly as they were pushed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whileai_core import jsonio
from whileai_core.errors import InputError
from whileai_core.hub.columns import EXACT
from whileai_core.hub.parquet import pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import BinaryIO


def rows_back(examples: Iterable[Mapping[str, Any]]) -> Iterator[Any]:
    """Yield the rows behind examples of a published split, however those were loaded.

    Args:
        examples: What iterating over `datasets.load_dataset(repo, split=…)` gives.

    Raises:
        InputError: They do not come from a repository that was published here.
    """
    for example in examples:
        yield jsonio.loads(_exact(example))


def texts_in(file: Path | BinaryIO) -> Iterator[str]:
    """Yield the exact text of every row of one shard."""
    for batch in pyarrow().parquet.ParquetFile(file).iter_batches(columns=[EXACT]):
        for example in batch.to_pylist():
            yield _exact(example)


def _exact(example: Mapping[str, Any]) -> str:
    text = example.get(EXACT)
    if not isinstance(text, str):
        raise InputError(f"there is no column {EXACT!r}: this split was not published here")
    return text
